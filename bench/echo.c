/*
 * The physical floor: a UDP server that receives and sends in batches and does nothing else. Every request comes
 * back with the QR bit set, three answers announced and 48 octets more, so that as many octets go out as
 * a DNS server sends for a name with three addresses (3 x (2 + 2 + 2 + 4 + 2 + 4), RFC 1035 §3.2.1).
 *
 *   echo PORT [ADDRESS [changes]]        ends when it is killed
 *
 * With `changes` it is also the floor of what a change of health can take: for each line `PER_SECOND SECONDS` on its
 * input another thread announces two answers and three in turn, so often a second. Afterwards it prints a line
 * `NANOSECONDS ANSWERS` for each change, CLOCK_MONOTONIC right before it, and `done`.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { BATCH = 64, SLOT = 2048, ANSWER_OCTETS = 48, HEADER_OCTETS = 12, MAX_CHANGES = 1 << 16 };

static atomic_uchar answers = 3;
static uint64_t changed_at[MAX_CHANGES];

static unsigned char octets[BATCH][SLOT + ANSWER_OCTETS];
static struct sockaddr_storage peers[BATCH];
static struct iovec in_octets[BATCH], out_octets[BATCH];
static struct mmsghdr in[BATCH], out[BATCH];

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static void *change(void *unused) {
  double per_second, seconds;
  while (scanf("%lf %lf", &per_second, &seconds) == 2) {
    uint64_t start = now();
    int total = (int)(per_second * seconds);
    if (total > MAX_CHANGES) total = MAX_CHANGES;
    for (int i = 0; i < total; i++) {
      uint64_t due = start + (uint64_t)((i + 1) * 1e9 / per_second);
      struct timespec at = {.tv_sec = (time_t)(due / 1000000000ULL), .tv_nsec = (long)(due % 1000000000ULL)};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
      changed_at[i] = now();
      atomic_store(&answers, i % 2 ? 3 : 2);
    }
    for (int i = 0; i < total; i++) printf("%lu %d\n", changed_at[i], i % 2 ? 3 : 2);
    atomic_store(&answers, 3);
    printf("done\n");
    fflush(stdout);
  }
  return unused;
}

int main(int count, char **arguments) {
  struct sockaddr_in local = {.sin_family = AF_INET};
  int buffer = 1 << 20;
  if (count < 2) {
    fprintf(stderr, "usage: echo PORT [ADDRESS [changes]]\n");
    return 2;
  }
  local.sin_port = htons((unsigned short)atoi(arguments[1]));
  inet_pton(AF_INET, count > 2 ? arguments[2] : "127.0.0.1", &local.sin_addr);
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  if (fd < 0 || bind(fd, (struct sockaddr *)&local, sizeof local) != 0) {
    perror("echo: bind");
    return 1;
  }
  pthread_t thread;
  if (count > 3 && pthread_create(&thread, NULL, change, NULL) != 0) {
    perror("echo: thread");
    return 1;
  }
  for (;;) {
    for (int i = 0; i < BATCH; i++) {
      in_octets[i] = (struct iovec){.iov_base = octets[i], .iov_len = SLOT};
      in[i].msg_hdr = (struct msghdr){.msg_name = &peers[i], .msg_namelen = sizeof peers[i], .msg_iov = &in_octets[i],
                                      .msg_iovlen = 1};
    }
    int got = recvmmsg(fd, in, BATCH, MSG_WAITFORONE, NULL);
    int ready = 0;
    for (int i = 0; i < got; i++) {
      size_t length = in[i].msg_len;
      if (length < HEADER_OCTETS) continue;
      octets[i][2] |= 0x84; /* QR, AA */
      octets[i][7] = atomic_load_explicit(&answers, memory_order_relaxed); /* ANCOUNT */
      memset(octets[i] + length, 0, ANSWER_OCTETS);
      out_octets[ready] = (struct iovec){.iov_base = octets[i], .iov_len = length + ANSWER_OCTETS};
      out[ready].msg_hdr = (struct msghdr){.msg_name = &peers[i], .msg_namelen = in[i].msg_hdr.msg_namelen,
                                           .msg_iov = &out_octets[ready], .msg_iovlen = 1};
      ready++;
    }
    for (int done = 0; done < ready;) {
      int sent = sendmmsg(fd, out + done, (unsigned)(ready - done), 0);
      done += sent > 0 ? sent : 1;
    }
  }
}
