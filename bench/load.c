/*
 * Load generator for UDP request/reply servers: sends prepared queries, matches replies by their 16-bit id, and prints
 * rates, losses, CPU use of the server and latency percentiles as one JSON object.
 *
 *   load --port N --queries FILE [--address 127.0.0.1] [--seconds 2] [--warmup 0.3] [--sockets 8]
 *        [--outstanding 32] [--rate 0] [--timeout 200] [--pid N ...] [--watch FILE] [--flood FILE]
 *
 * Closed loop (default): each socket keeps --outstanding queries in flight and sends the next when a reply comes.
 * Open loop (--rate Q): Q queries a second, evenly spaced, whatever comes back. It spins, on a core of its own.
 * A query that is not answered within --timeout milliseconds is lost.
 * With --pid, the CPU time of those processes within the measured span is read from /proc.
 * With --watch, a line `NANOSECONDS COUNT` goes to that file whenever a reply's number of answers differs from that of
 * the reply before; the clock is CLOCK_MONOTONIC, the same in all processes. `NANOSECONDS blind NANOSECONDS` is a span
 * in which this program was not running and so could not see anything.
 * With --flood, the octets of that file are sent besides, from sockets of their own, as fast as the core allows, and
 * what comes back is not read. They are not counted in `sent`, but in `flooded`.
 *
 * FILE: one query per line in hexadecimal, the first two octets are replaced by the id. `HEX OFFSET LENGTH` also
 * replaces that many octets with random lower-case letters each time it is sent. Queries are taken in turn.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_SOCKETS = 64,
  MAX_QUERIES = 65536,
  MAX_PIDS = 64,
  FLOOD_SOCKETS = 4,
  BATCH = 64,
  QUERY_OCTETS = 512,
  REPLY_OCTETS = 2048,
  IDS = 65536,
  /* Ids that may be in flight per socket before the oldest is given up, so that no id means two queries. */
  WINDOW = 60000,
  /* Latency buckets: 64 per power of two of nanoseconds, so within 1.6 %. */
  SUB_BITS = 6,
  BUCKETS = (64 - SUB_BITS) << SUB_BITS,
  RCODES = 16,
  /* A turn of the loop takes some ten microseconds; longer than this, something else had the core. */
  BLIND_NS = 500000,
};

struct query {
  uint8_t octets[QUERY_OCTETS];
  size_t length;
  size_t random_offset;
  size_t random_length;
};

struct client {
  int fd;
  uint16_t head;          /* next id to use */
  uint16_t tail;          /* oldest id that may be unanswered */
  unsigned outstanding;
  uint64_t sent_at[IDS];  /* nanoseconds; 0 = not in flight */
};

struct list {
  struct query *queries;
  size_t count, next;
};

static struct list asked, flood;
static int flood_fds[FLOOD_SOCKETS];
static uint64_t flooded;
static FILE *watch;
static int watched = -1;
static struct client *clients[MAX_SOCKETS];
static uint64_t histogram[BUCKETS], rcodes[RCODES];
static uint64_t sent, replies, lost, unexpected, truncated, reply_octets, send_failures, longest;
static uint64_t random_state = 0x9E3779B97F4A7C15ULL;

static uint8_t out[BATCH][QUERY_OCTETS], in[BATCH][REPLY_OCTETS];
static struct iovec out_octets[BATCH], in_octets[BATCH];
static struct mmsghdr out_messages[BATCH], in_messages[BATCH];

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "load: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
  exit(1);
}

static void read_queries(struct list *list, const char *file, size_t shortest) {
  FILE *stream = fopen(file, "r");
  char line[4 * QUERY_OCTETS];
  if (!stream) fail(file);
  list->queries = calloc(MAX_QUERIES, sizeof *list->queries);
  if (!list->queries) fail("memory");
  while (list->count < MAX_QUERIES && fgets(line, sizeof line, stream)) {
    struct query *q = &list->queries[list->count];
    char *at = line;
    unsigned octet;
    while (q->length < QUERY_OCTETS && sscanf(at, "%2x", &octet) == 1 && at[0] != ' ') {
      q->octets[q->length++] = (uint8_t)octet;
      at += 2;
    }
    if (q->length < shortest) {
      q->length = 0;
      continue;
    }
    sscanf(at, "%zu %zu", &q->random_offset, &q->random_length);
    if (q->random_offset + q->random_length > q->length) {
      errno = 0;
      fail("a random part lies outside its query");
    }
    list->count++;
  }
  fclose(stream);
  errno = 0;
  if (list->count == 0) fail("no queries in the file");
}

static struct query *take_query(struct list *list) {
  struct query *q = &list->queries[list->next];
  if (++list->next == list->count) list->next = 0;
  return q;
}

/* ---- CPU time of the server ---- */

/* Nanoseconds on a CPU of all threads of a process, from schedstat; where that is absent, utime + stime (10 ms steps). */
static uint64_t cpu_of(int pid) {
  char path[96], text[1024];
  uint64_t total = 0, spent;
  bool found = false;
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *tasks = opendir(path);
  if (!tasks) return 0;
  for (struct dirent *task; (task = readdir(tasks));) {
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", pid, task->d_name);
    FILE *stream = fopen(path, "r");
    if (!stream) continue;
    if (fscanf(stream, "%lu", &spent) == 1) {
      total += spent;
      found = true;
    }
    fclose(stream);
  }
  closedir(tasks);
  if (found) return total;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *stream = fopen(path, "r");
  if (!stream) return 0;
  size_t length = fread(text, 1, sizeof text - 1, stream);
  fclose(stream);
  text[length] = 0;
  unsigned long user = 0, system = 0;
  char *after = strrchr(text, ')');
  if (after) sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
  return (user + system) * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint64_t cpu_of_all(const int *pids, int count) {
  uint64_t total = 0;
  for (int i = 0; i < count; i++) total += cpu_of(pids[i]);
  return total;
}

/* ---- latency ---- */

static unsigned bucket_of(uint64_t ns) {
  if (ns < (1U << SUB_BITS)) return (unsigned)ns;
  unsigned shift = 63U - (unsigned)__builtin_clzll(ns) - SUB_BITS;
  return ((shift + 1) << SUB_BITS) + (unsigned)((ns >> shift) & ((1U << SUB_BITS) - 1));
}

/* The middle of a bucket, in nanoseconds. */
static double value_of(unsigned bucket) {
  unsigned shift = bucket >> SUB_BITS;
  uint64_t sub = bucket & ((1U << SUB_BITS) - 1);
  if (shift == 0) return (double)sub;
  uint64_t low = (sub + (1U << SUB_BITS)) << (shift - 1);
  return (double)low + (double)(1ULL << (shift - 1)) / 2;
}

static double percentile_us(double share) {
  uint64_t wanted = (uint64_t)(share * (double)replies), seen = 0;
  for (unsigned i = 0; i < BUCKETS; i++) {
    seen += histogram[i];
    if (seen > wanted) return value_of(i) / 1000;
  }
  return (double)longest / 1000;
}

/* ---- traffic ---- */

/* Sends up to BATCH queries from one socket; at `due` where the schedule has a time for it, else now. */
static void send_queries(struct client *c, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    const struct query *q = take_query(&asked);
    uint16_t id = (uint16_t)(c->head + i);
    memcpy(out[i], q->octets, q->length);
    out[i][0] = (uint8_t)(id >> 8);
    out[i][1] = (uint8_t)id;
    for (size_t k = 0; k < q->random_length; k++)
      out[i][q->random_offset + k] = (uint8_t)('a' + (next_random() >> 33) % 26);
    out_octets[i].iov_len = q->length;
  }
  uint64_t at = now();
  int done = sendmmsg(c->fd, out_messages, count, MSG_DONTWAIT);
  if (done < 0) {
    send_failures++;
    return;
  }
  for (int i = 0; i < done; i++) c->sent_at[(uint16_t)(c->head + i)] = at;
  c->head = (uint16_t)(c->head + done);
  c->outstanding += (unsigned)done;
  sent += (unsigned)done;
}

/* Sends a batch of the flood; what does not fit is not sent again. */
static void send_flood(int fd) {
  struct iovec octets[BATCH];
  struct mmsghdr messages[BATCH] = {0};
  for (int i = 0; i < BATCH; i++) {
    struct query *q = take_query(&flood);
    for (size_t k = 0; k < q->random_length; k++) q->octets[q->random_offset + k] = (uint8_t)next_random();
    octets[i] = (struct iovec){.iov_base = q->octets, .iov_len = q->length};
    messages[i].msg_hdr.msg_iov = &octets[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  int done = sendmmsg(fd, messages, BATCH, MSG_DONTWAIT);
  if (done > 0) flooded += (unsigned)done;
}

/* False when nothing was there. */
static bool receive_replies(struct client *c) {
  int got = recvmmsg(c->fd, in_messages, BATCH, MSG_DONTWAIT, NULL);
  if (got <= 0) return false;
  uint64_t at = now();
  for (int i = 0; i < got; i++) {
    const uint8_t *reply = in[i];
    unsigned length = in_messages[i].msg_len;
    uint16_t id = (uint16_t)(reply[0] << 8 | reply[1]);
    if (length < 12 || !(reply[2] & 0x80) || c->sent_at[id] == 0) {
      unexpected++;
      continue;
    }
    uint64_t took = at - c->sent_at[id];
    c->sent_at[id] = 0;
    c->outstanding--;
    replies++;
    reply_octets += length;
    rcodes[reply[3] & 15]++;
    if (reply[2] & 2) truncated++;
    if (watch && reply[7] != watched) {
      watched = reply[7];
      fprintf(watch, "%lu %d\n", at, watched);
    }
    histogram[bucket_of(took)]++;
    if (took > longest) longest = took;
  }
  return true;
}

static void give_up_old(struct client *c, uint64_t timeout) {
  uint64_t at = now();
  while (c->tail != c->head) {
    uint64_t then = c->sent_at[c->tail];
    if (then != 0) {
      if (at - then < timeout && (uint16_t)(c->head - c->tail) < WINDOW) return;
      c->sent_at[c->tail] = 0;
      c->outstanding--;
      lost++;
    }
    c->tail++;
  }
}

static void forget_warmup(void) {
  sent = replies = lost = unexpected = truncated = reply_octets = send_failures = longest = flooded = 0;
  memset(histogram, 0, sizeof histogram);
  memset(rcodes, 0, sizeof rcodes);
}

int main(int count, char **arguments) {
  const char *address = "127.0.0.1", *file = NULL, *flood_file = NULL, *watch_file = NULL;
  int port = 0, sockets = 8, pids[MAX_PIDS], pid_count = 0;
  double seconds = 2, warmup = 0.3, rate = 0, timeout_ms = 200;
  unsigned outstanding = 32;

  for (int i = 1; i + 1 < count; i += 2) {
    const char *name = arguments[i], *value = arguments[i + 1];
    if (!strcmp(name, "--address")) address = value;
    else if (!strcmp(name, "--queries")) file = value;
    else if (!strcmp(name, "--flood")) flood_file = value;
    else if (!strcmp(name, "--watch")) watch_file = value;
    else if (!strcmp(name, "--port")) port = atoi(value);
    else if (!strcmp(name, "--sockets")) sockets = atoi(value);
    else if (!strcmp(name, "--seconds")) seconds = atof(value);
    else if (!strcmp(name, "--warmup")) warmup = atof(value);
    else if (!strcmp(name, "--rate")) rate = atof(value);
    else if (!strcmp(name, "--timeout")) timeout_ms = atof(value);
    else if (!strcmp(name, "--outstanding")) outstanding = (unsigned)atoi(value);
    else if (!strcmp(name, "--pid") && pid_count < MAX_PIDS) pids[pid_count++] = atoi(value);
    else {
      errno = 0;
      fail(name);
    }
  }
  if (!file || port <= 0 || sockets < 1 || sockets > MAX_SOCKETS || outstanding < 1 || outstanding > WINDOW) {
    fprintf(stderr, "usage: load --port N --queries FILE [options]; see the head of load.c\n");
    return 2;
  }
  read_queries(&asked, file, 12);
  if (flood_file) read_queries(&flood, flood_file, 1);
  if (watch_file && !(watch = fopen(watch_file, "w"))) fail(watch_file);

  struct sockaddr_storage server = {0};
  struct sockaddr_in *v4 = (struct sockaddr_in *)&server;
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&server;
  socklen_t server_length = sizeof *v4;
  if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons((uint16_t)port);
  } else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    server_length = sizeof *v6;
  } else {
    errno = 0;
    fail("not an address");
  }
  for (int i = 0; i < sockets; i++) {
    int buffer = 1 << 20;
    struct client *c = clients[i] = calloc(1, sizeof **clients);
    if (!c) fail("memory");
    c->fd = socket(server.ss_family, SOCK_DGRAM, 0);
    setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&server, server_length) != 0) fail("connect");
  }
  for (int i = 0; flood_file && i < FLOOD_SOCKETS; i++) {
    flood_fds[i] = socket(server.ss_family, SOCK_DGRAM, 0);
    if (flood_fds[i] < 0 || connect(flood_fds[i], (struct sockaddr *)&server, server_length) != 0) fail("connect");
  }
  for (int i = 0; i < BATCH; i++) {
    out_octets[i].iov_base = out[i];
    out_messages[i].msg_hdr.msg_iov = &out_octets[i];
    out_messages[i].msg_hdr.msg_iovlen = 1;
    in_octets[i] = (struct iovec){.iov_base = in[i], .iov_len = REPLY_OCTETS};
    in_messages[i].msg_hdr.msg_iov = &in_octets[i];
    in_messages[i].msg_hdr.msg_iovlen = 1;
  }

  uint64_t timeout = (uint64_t)(timeout_ms * 1e6), begin = now(), measured = begin + (uint64_t)(warmup * 1e9);
  uint64_t gap = rate > 0 ? (uint64_t)(1e9 / rate) : 0, due = begin, swept = begin, cpu = 0, at;
  uint64_t end = measured + (uint64_t)(seconds * 1e9);
  bool warm = false;
  unsigned turn = 0, turn_of_flood = 0;
  uint64_t looked = begin;
  while ((at = now()) < end) {
    if (watch && at - looked > BLIND_NS) fprintf(watch, "%lu blind %lu\n", looked, at);
    looked = at;
    if (!warm && at >= measured) {
      warm = true;
      forget_warmup();
      cpu = cpu_of_all(pids, pid_count);
      measured = now();
      end = measured + (uint64_t)(seconds * 1e9);
      if (due < measured) due = measured;
    }
    if (flood_file) send_flood(flood_fds[turn_of_flood++ % FLOOD_SOCKETS]);
    if (gap) {
      for (; due <= at; due += gap) send_queries(clients[turn++ % (unsigned)sockets], 1);
      for (int i = 0; i < sockets; i++)
        if (clients[i]->outstanding > 0) receive_replies(clients[i]);
    } else {
      for (int i = 0; i < sockets; i++) {
        struct client *c = clients[i];
        receive_replies(c);
        unsigned room = outstanding > c->outstanding ? outstanding - c->outstanding : 0;
        if (room > 0) send_queries(c, room > BATCH ? BATCH : room);
      }
    }
    if (at - swept > 5000000) {
      swept = at;
      for (int i = 0; i < sockets; i++) give_up_old(clients[i], timeout);
    }
  }
  uint64_t stop = now();
  cpu = cpu_of_all(pids, pid_count) - cpu;
  double span = (double)(stop - measured) / 1e9;
  uint64_t counted = replies, octets_counted = reply_octets, flooded_within = flooded;

  /* In the open loop, what is still under way is neither answered in time nor lost: wait for it. */
  for (uint64_t until = stop + timeout; gap && now() < until;)
    for (int i = 0; i < sockets; i++)
      if (clients[i]->outstanding > 0) receive_replies(clients[i]);
  for (int i = 0; gap && i < sockets; i++) give_up_old(clients[i], 0);

  printf("{\"seconds\":%.4f,\"sent\":%lu,\"replies\":%lu,\"qps\":%.0f,\"lost\":%lu,\"unexpected\":%lu,", span, sent,
         replies, (double)counted / span, lost, unexpected);
  printf("\"flooded\":%lu,", flooded_within);
  printf("\"truncated\":%lu,\"sendFailures\":%lu,\"octetsPerReply\":%.1f,\"rcodes\":{", truncated, send_failures,
         counted ? (double)octets_counted / (double)counted : 0);
  for (int i = 0, first = 1; i < RCODES; i++)
    if (rcodes[i]) {
      printf("%s\"%d\":%lu", first ? "" : ",", i, rcodes[i]);
      first = 0;
    }
  printf("},\"cpuUsPerQuery\":");
  if (pid_count > 0 && counted > 0) printf("%.4f", (double)cpu / 1000 / (double)counted);
  else printf("null");
  printf(",\"latencyUs\":{\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"p999\":%.1f,\"max\":%.1f}}\n", percentile_us(0.5),
         percentile_us(0.9), percentile_us(0.99), percentile_us(0.999), (double)longest / 1000);
  return 0;
}
