/*
 * UDP in batches for Node.js: receive up to a batch of datagrams with one system call, call JavaScript once,
 * send what it wrote with one system call. Knows nothing of what the datagrams mean.
 *
 * Everything a batch needs is allocated when a receiver starts: the octets live in typed arrays that JavaScript made
 * (see buffers.ts), the vectors of recvmmsg(2) and sendmmsg(2) in this file. A batch costs one N-API call, whatever
 * it holds. There is no global state, so every worker thread may load it.
 *
 * Three kinds of thing:
 *   - a bound socket is a plain file descriptor, made by bind() or handed to us (socket activation), that its
 *     owner closes; the kernel queues datagrams on it whether or not anyone reads;
 *   - a receiver reads a duplicate of such a descriptor. When its thread dies, the bound socket and its queue stay, and
 *     the next receiver carries on;
 *   - an alarm is an eventfd(2): another thread rings it to end a serve().
 *
 * serve() blocks its thread: it waits for datagrams in ppoll(2) and calls JavaScript directly. The event loop has no part
 * in it: a wake-up through epoll and a callback scope costs twice as much as all else that one datagram takes.
 *
 * Linux only: recvmmsg, sendmmsg, eventfd, SO_MEMINFO, reuseport programs.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <node_api.h>
#include <uv.h>

/* Raised with every change of what JavaScript sees; load.ts refuses another one. */
#define API_VERSION 4

/* Older C libraries lack these; the values are the kernel's and never change. */
#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif
#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif
#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif
#ifndef SO_DETACH_REUSEPORT_BPF
#define SO_DETACH_REUSEPORT_BPF 68
#endif

/* Octets of one entry in the array of peers: a sockaddr_in6 (28), rounded up so that entries stay aligned. */
#define PEER_OCTETS 32
/* recvmmsg(2) and sendmmsg(2) take at most UIO_MAXIOV (1024) messages; far fewer already cost next to nothing each. */
#define MAX_BATCH 256
/* A final drain ends even if datagrams keep coming: 1024 batches are more than any receive buffer holds. */
#define MAX_DRAIN_BATCHES 1024
/* Of idle wakes, one in so many also asks the kernel for its drop count; full batches always do. */
#define WAKES_PER_DROP_CHECK 64
/* Receivers that one serve() waits for: more listen addresses than any server has. */
#define MAX_RECEIVERS 256
/* Connections the kernel completes ahead of accept(2); Node's own default. */
#define STREAM_BACKLOG 511

/* Places in the array of counters; the order is that of COUNTERS in buffers.ts. */
enum counter {
  RECEIVED,
  SENT,
  BATCHES,
  SEND_ERRORS,
  SEND_BLOCKED,
  RECEIVE_ERRORS,
  KERNEL_DROPS,
  TRUNCATED,
  BAD_REPLIES,
  COUNTERS
};

/* Room for the one control message that is asked for: the address a datagram was sent to. */
union control {
  struct cmsghdr alignment;
  char v4[CMSG_SPACE(sizeof(struct in_pktinfo))];
  char v6[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

struct receiver {
  napi_env env;
  napi_ref handler;   /* the JavaScript function */
  napi_ref keep;      /* everything that must not be collected while the socket is open */
  int owners;         /* the JavaScript object, and the socket while it is open; the last one frees */
  int fd;
  bool open;
  bool running;       /* a batch is in JavaScript's hands */
  uint32_t batch;
  uint32_t receive_slot;
  uint32_t send_slot;
  uint32_t wakes;
  uint8_t *receive;
  uint8_t *send;
  uint8_t *peers;
  int32_t *receive_lengths;
  int32_t *send_lengths;
  uint64_t *counters;
  struct mmsghdr *in;
  struct mmsghdr *out;
  struct iovec *in_octets;
  struct iovec *out_octets;
  union control *control;
};

/* Tells a receiver from any other object; a random number made once for this file. */
static const napi_type_tag RECEIVER_TAG = {0x6f1c2b9d4e7a4c05ULL, 0x9b3e5d7c81f2a640ULL};

/* ---- errors ---- */

static napi_value throw_code(napi_env env, const char *code, const char *message) {
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (!pending) napi_throw_error(env, code, message);
  return NULL;
}

static napi_value throw_bad(napi_env env, const char *message) {
  return throw_code(env, "ERR_INVALID_ARG_VALUE", message);
}

/* A failed system call as Node shows its own: code, errno, syscall, and what it was about. */
static napi_value throw_errno(napi_env env, int number, const char *syscall, const char *about) {
  char name[32];
  char text[256];
  napi_value code, message, error, value;
  uv_err_name_r(-number, name, sizeof name);
  snprintf(text, sizeof text, "%s %s%s%s", syscall, name, about[0] ? " " : "", about);
  if (napi_create_string_utf8(env, name, NAPI_AUTO_LENGTH, &code) == napi_ok &&
      napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &message) == napi_ok &&
      napi_create_error(env, code, message, &error) == napi_ok) {
    if (napi_create_int32(env, -number, &value) == napi_ok) napi_set_named_property(env, error, "errno", value);
    if (napi_create_string_utf8(env, syscall, NAPI_AUTO_LENGTH, &value) == napi_ok)
      napi_set_named_property(env, error, "syscall", value);
    napi_throw(env, error);
  }
  return NULL;
}

/* ---- arguments ---- */

static bool take_arguments(napi_env env, napi_callback_info info, size_t wanted, napi_value *values) {
  size_t got = wanted;
  if (napi_get_cb_info(env, info, &got, values, NULL, NULL) == napi_ok && got >= wanted) return true;
  throw_bad(env, "too few arguments");
  return false;
}

static bool take_uint32(napi_env env, napi_value value, uint32_t low, uint32_t high, uint32_t *result) {
  double number;
  if (napi_get_value_double(env, value, &number) == napi_ok && number >= low && number <= high) {
    *result = (uint32_t)number;
    return true;
  }
  throw_bad(env, "a number is missing or out of range");
  return false;
}

static bool take_fd(napi_env env, napi_value value, int *fd) {
  uint32_t number;
  if (!take_uint32(env, value, 0, INT32_MAX, &number)) return false;
  *fd = (int)number;
  return true;
}

/* The octets behind a typed array of at least `least` elements; they stay where they are while it is referenced. */
static void *take_array(napi_env env, napi_value value, napi_typedarray_type type, size_t least) {
  bool is = false;
  napi_typedarray_type got;
  size_t length;
  void *octets;
  if (napi_is_typedarray(env, value, &is) == napi_ok && is &&
      napi_get_typedarray_info(env, value, &got, &length, &octets, NULL, NULL) == napi_ok && got == type &&
      length >= least && octets != NULL)
    return octets;
  throw_bad(env, "a typed array is missing, of another type or too short");
  return NULL;
}

/* ---- bound sockets ---- */

union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  struct sockaddr_storage room;
};

static bool set_int(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

static int get_int(int fd, int level, int name) {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(fd, level, name, &value, &length) == 0 ? value : -1;
}

/* The privileged form may exceed net.core.rmem_max or wmem_max; without the privilege the kernel caps silently. */
static void set_buffer(int fd, int forced, int plain, uint32_t octets) {
  if (octets > 0 && !set_int(fd, SOL_SOCKET, forced, (int)octets)) set_int(fd, SOL_SOCKET, plain, (int)octets);
}

/* Whether the socket is bound to no address of its own, so that replies must name the address that was asked. */
static bool is_wildcard(const union address *local) {
  if (local->any.sa_family == AF_INET) return local->v4.sin_addr.s_addr == htonl(INADDR_ANY);
  return IN6_IS_ADDR_UNSPECIFIED(&local->v6.sin6_addr);
}

/*
 * What every datagram socket needs, ours or adopted. Failures are not fatal: a kernel without an option works as it did
 * before the option existed.
 *
 * PROBE: never fragment (DF is set on IPv4), and never believe an ICMP message about the path's MTU, which anyone can
 * forge (RFC 9715 §3.1, R1 and R2). It also spares IPv4 the search for a packet id that no other fragment has.
 * RECVERR off: an ICMP error about one client is not our business.
 */
static void prepare_datagram(int fd, const union address *local) {
  if (local->any.sa_family == AF_INET) {
    set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    set_int(fd, IPPROTO_IP, IP_RECVERR, 0);
    if (is_wildcard(local)) set_int(fd, IPPROTO_IP, IP_PKTINFO, 1);
  } else {
    set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    set_int(fd, IPPROTO_IPV6, IPV6_RECVERR, 0);
    if (is_wildcard(local)) set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
  }
}

/* { fd, kind, family, address, port, receiveBufferBytes } of a socket; throws what getsockname(2) or SO_TYPE says. */
static napi_value describe_fd(napi_env env, int fd) {
  union address local;
  socklen_t length = sizeof local;
  char text[INET6_ADDRSTRLEN] = "";
  int port = 0, family = 0;
  napi_value result, value;

  memset(&local, 0, sizeof local);
  int type = get_int(fd, SOL_SOCKET, SO_TYPE);
  if (type < 0) return throw_errno(env, errno, "getsockopt", "");
  if (getsockname(fd, &local.any, &length) != 0) return throw_errno(env, errno, "getsockname", "");
  if (local.any.sa_family == AF_INET) {
    family = 4;
    port = ntohs(local.v4.sin_port);
    inet_ntop(AF_INET, &local.v4.sin_addr, text, sizeof text);
  } else if (local.any.sa_family == AF_INET6) {
    family = 6;
    port = ntohs(local.v6.sin6_port);
    inet_ntop(AF_INET6, &local.v6.sin6_addr, text, sizeof text);
  }
  const char *kind = family == 0 ? "other" : type == SOCK_DGRAM ? "udp" : type == SOCK_STREAM ? "tcp" : "other";
  /* The kernel doubles what was asked for, to pay for its own bookkeeping (socket(7)); undo that. */
  const struct {
    const char *name;
    int number;
  } numbers[] = {{"fd", fd}, {"family", family}, {"port", port},
                 {"receiveBufferBytes", get_int(fd, SOL_SOCKET, SO_RCVBUF) / 2}};

  if (napi_create_object(env, &result) != napi_ok) return NULL;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (napi_create_int32(env, numbers[i].number, &value) != napi_ok) return NULL;
    napi_set_named_property(env, result, numbers[i].name, value);
  }
  if (napi_create_string_utf8(env, kind, NAPI_AUTO_LENGTH, &value) != napi_ok) return NULL;
  napi_set_named_property(env, result, "kind", value);
  if (napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value) != napi_ok) return NULL;
  napi_set_named_property(env, result, "address", value);
  return result;
}

/* describe(fd) */
static napi_value describe_socket(napi_env env, napi_callback_info info) {
  napi_value value;
  int fd;
  if (!take_arguments(env, info, 1, &value) || !take_fd(env, value, &fd)) return NULL;
  return describe_fd(env, fd);
}

/* duplicate(fd): another descriptor of the same socket, closed on exec */
static napi_value duplicate_socket(napi_env env, napi_callback_info info) {
  napi_value value, result;
  int fd;
  if (!take_arguments(env, info, 1, &value) || !take_fd(env, value, &fd)) return NULL;
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return throw_errno(env, errno, "fcntl", "F_DUPFD_CLOEXEC");
  if (napi_create_int32(env, copy, &result) != napi_ok) {
    close(copy);
    return NULL;
  }
  return result;
}

/*
 * bind(address, port, stream, reusePort, freeBind, receiveBufferBytes, sendBufferBytes): what describe() says of the new socket.
 * freeBind: the address may be one that this machine does not have (yet).
 */
static napi_value bind_socket(napi_env env, napi_callback_info info) {
  napi_value values[7];
  char text[80];
  char about[96];
  size_t length;
  uint32_t port, receive_buffer, send_buffer;
  bool stream, reuse_port, free_bind;
  union address local;

  if (!take_arguments(env, info, 7, values)) return NULL;
  if (napi_get_value_string_utf8(env, values[0], text, sizeof text, &length) != napi_ok ||
      napi_get_value_bool(env, values[2], &stream) != napi_ok ||
      napi_get_value_bool(env, values[3], &reuse_port) != napi_ok ||
      napi_get_value_bool(env, values[4], &free_bind) != napi_ok)
    return throw_bad(env, "bind(address, port, stream, reusePort, freeBind, receiveBufferBytes, sendBufferBytes)");
  if (!take_uint32(env, values[1], 0, UINT16_MAX, &port) ||
      !take_uint32(env, values[5], 0, INT32_MAX / 2, &receive_buffer) ||
      !take_uint32(env, values[6], 0, INT32_MAX / 2, &send_buffer))
    return NULL;

  memset(&local, 0, sizeof local);
  if (uv_ip4_addr(text, (int)port, &local.v4) != 0 && uv_ip6_addr(text, (int)port, &local.v6) != 0)
    return throw_errno(env, EINVAL, "bind", text);
  bool v6 = local.any.sa_family == AF_INET6;
  snprintf(about, sizeof about, v6 ? "[%s]:%u" : "%s:%u", text, port);

  int fd = socket(local.any.sa_family, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return throw_errno(env, errno, "socket", about);

  const char *failed = NULL;
  if (v6 && !set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) failed = "setsockopt";
  if (!failed && stream && !set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1)) failed = "setsockopt";
  if (!failed && free_bind && !set_int(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_FREEBIND : IP_FREEBIND, 1))
    failed = "setsockopt";
  if (!failed && reuse_port && !set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1)) failed = "setsockopt";
  if (!failed && !stream) {
    set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, receive_buffer);
    set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, send_buffer);
    prepare_datagram(fd, &local);
  }
  if (!failed && bind(fd, &local.any, v6 ? sizeof local.v6 : sizeof local.v4) != 0) failed = "bind";
  if (!failed && stream && listen(fd, STREAM_BACKLOG) != 0) failed = "listen";
  if (failed) {
    int number = errno;
    close(fd);
    return throw_errno(env, number, failed, about);
  }
  napi_value result = describe_fd(env, fd);
  if (!result) close(fd);
  return result;
}

/*
 * steer(fd, base, count): new datagrams for the reuseport group of this socket go to its members base ..
 * base + count - 1, one at random each time. The kernel numbers members in order of bind; when one leaves, the last
 * one takes its number. A number that no member has falls back to the kernel's own choice among all of them.
 */
static napi_value steer_group(napi_env env, napi_callback_info info) {
  napi_value values[3];
  int fd;
  uint32_t base, count;
  if (!take_arguments(env, info, 3, values) || !take_fd(env, values[0], &fd) ||
      !take_uint32(env, values[1], 0, UINT16_MAX, &base) || !take_uint32(env, values[2], 1, UINT16_MAX, &count))
    return NULL;
  struct sock_filter one[] = {BPF_STMT(BPF_RET | BPF_K, base)};
  struct sock_filter many[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM)),
      BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, count),
      BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, base),
      BPF_STMT(BPF_RET | BPF_A, 0),
  };
  struct sock_fprog program = {
      .len = count == 1 ? sizeof one / sizeof *one : sizeof many / sizeof *many,
      .filter = count == 1 ? one : many,
  };
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) != 0)
    return throw_errno(env, errno, "setsockopt", "SO_ATTACH_REUSEPORT_CBPF");
  return NULL;
}

/* unsteer(fd): back to the kernel's own choice; nothing happens where no program is attached. */
static napi_value unsteer_group(napi_env env, napi_callback_info info) {
  napi_value value;
  int fd;
  if (!take_arguments(env, info, 1, &value) || !take_fd(env, value, &fd)) return NULL;
  if (!set_int(fd, SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, 0) && errno != ENOENT)
    return throw_errno(env, errno, "setsockopt", "SO_DETACH_REUSEPORT_BPF");
  return NULL;
}

/* ---- batches ---- */

/* Counters have one writer, this thread; others read them at any time, so each is written whole. */
static inline void count(struct receiver *r, enum counter which, uint64_t by) {
  __atomic_store_n(&r->counters[which], r->counters[which] + by, __ATOMIC_RELAXED);
}

/*
 * The kernel counts datagrams it had no room for, in 32 bits, since the socket was made. Adding the difference to our
 * low 32 bits survives its wrapping, and a counter that outlives the receiver stays true.
 */
static void count_kernel_drops(struct receiver *r) {
  uint32_t info[SK_MEMINFO_VARS];
  socklen_t length = sizeof info;
  memset(info, 0, sizeof info);
  if (getsockopt(r->fd, SOL_SOCKET, SO_MEMINFO, info, &length) == 0 && length > SK_MEMINFO_DROPS * sizeof *info)
    count(r, KERNEL_DROPS, info[SK_MEMINFO_DROPS] - (uint32_t)r->counters[KERNEL_DROPS]);
}

static void arm(struct receiver *r, unsigned i) {
  struct msghdr *message = &r->in[i].msg_hdr;
  message->msg_namelen = sizeof(struct sockaddr_in6);
  message->msg_controllen = sizeof *r->control;
  message->msg_flags = 0;
}

static int receive_batch(struct receiver *r) {
  int got;
  do got = recvmmsg(r->fd, r->in, r->batch, MSG_DONTWAIT, NULL);
  while (got < 0 && errno == EINTR);
  return got;
}

/*
 * Turns the control message of a received datagram into that of its reply: the source is the address it was sent to.
 * The interface is left to routing, except where an address means nothing without one. Returns its size, or 0.
 */
static size_t reply_source(struct msghdr *received) {
  struct cmsghdr *control = CMSG_FIRSTHDR(received);
  if (control == NULL || (received->msg_flags & MSG_CTRUNC)) return 0;
  if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
    struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(control);
    info->ipi_ifindex = 0;
    /* Queued before IP_PKTINFO was on (an adopted socket): only the header's address is known. */
    if (info->ipi_spec_dst.s_addr == 0) info->ipi_spec_dst = info->ipi_addr;
    return CMSG_SPACE(sizeof *info);
  }
  if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO) {
    struct in6_pktinfo *info = (struct in6_pktinfo *)CMSG_DATA(control);
    if (!IN6_IS_ADDR_LINKLOCAL(&info->ipi6_addr)) info->ipi6_ifindex = 0;
    return CMSG_SPACE(sizeof *info);
  }
  return 0;
}

/*
 * Sends the replies that JavaScript wrote. A reply that cannot be sent never holds up the others: one that the
 * kernel refuses (no route, filtered, a forged port 0, too long) is counted and skipped; when the send queue is full
 * the rest are counted and dropped, as the network itself would, and clients ask again.
 */
static void send_batch(struct receiver *r, unsigned received) {
  unsigned ready = 0, done = 0;
  for (unsigned i = 0; i < received; i++) {
    int32_t length = r->send_lengths[i];
    if (length == 0) continue;
    if (length < 0 || (uint32_t)length > r->send_slot) {
      count(r, BAD_REPLIES, 1);
      continue;
    }
    struct msghdr *from = &r->in[i].msg_hdr;
    struct msghdr *to = &r->out[ready++].msg_hdr;
    r->out_octets[i].iov_len = (size_t)length;
    to->msg_name = from->msg_name;
    to->msg_namelen = from->msg_namelen;
    to->msg_iov = &r->out_octets[i];
    to->msg_iovlen = 1;
    to->msg_controllen = from->msg_controllen > 0 ? reply_source(from) : 0;
    to->msg_control = to->msg_controllen > 0 ? from->msg_control : NULL;
  }
  while (done < ready) {
    int sent = sendmmsg(r->fd, r->out + done, ready - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      count(r, SENT, (uint64_t)sent);
      done += (unsigned)sent;
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      count(r, SEND_BLOCKED, ready - done);
      return;
    } else if (sent == 0 || errno != EINTR) {
      count(r, SEND_ERRORS, 1);
      done++;
    }
  }
}

/*
 * Receives, answers and sends up to `limit` batches; `*answered` is how many datagrams came, `*full` whether a batch
 * was full. False means that JavaScript threw: its batch is dropped and the exception is pending.
 */
static bool run_batches(struct receiver *r, napi_value handler, unsigned limit, uint32_t *answered, bool *full) {
  napi_value receiver, argument;
  bool fine = true;

  *answered = 0;
  *full = false;
  napi_get_undefined(r->env, &receiver);
  r->running = true;
  for (unsigned turn = 0; turn < limit && r->open; turn++) {
    int got = receive_batch(r);
    if (got < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      /* An error the kernel had kept for the socket; reading it cleared it. */
      count(r, RECEIVE_ERRORS, 1);
      continue;
    }
    for (int i = 0; i < got; i++) {
      bool whole = (r->in[i].msg_hdr.msg_flags & MSG_TRUNC) == 0;
      r->receive_lengths[i] = whole ? (int32_t)r->in[i].msg_len : 0;
      if (!whole) count(r, TRUNCATED, 1);
    }
    memset(r->send_lengths, 0, (size_t)got * sizeof *r->send_lengths);
    count(r, RECEIVED, (uint64_t)got);
    count(r, BATCHES, 1);
    *answered += (uint32_t)got;

    fine = napi_create_int32(r->env, got, &argument) == napi_ok &&
           napi_call_function(r->env, receiver, handler, 1, &argument, NULL) == napi_ok;
    /* The handler may have closed the receiver. */
    if (fine && r->open) send_batch(r, (unsigned)got);
    for (int i = 0; i < got; i++) arm(r, (unsigned)i);
    if (!fine) break;
    /* Fewer than fit: the queue is empty, and asking again would cost a call to learn it. */
    if ((uint32_t)got < r->batch) break;
    *full = true;
  }
  r->running = false;
  if (r->open && (*full || ++r->wakes % WAKES_PER_DROP_CHECK == 0)) count_kernel_drops(r);
  return fine;
}

/* ---- waiting ---- */

static bool is_rung(int alarm) {
  uint64_t times;
  return read(alarm, &times, sizeof times) == (ssize_t)sizeof times;
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for a datagram, the alarm, or the end of the time; whether the alarm was rung. An error on a socket shows as readable. */
static bool wait_for_any(struct pollfd *waits, nfds_t receivers, int64_t left_ms) {
  if (ppoll(waits, receivers + 1, left_ms < 0 ? NULL : &(struct timespec){left_ms / 1000, left_ms % 1000 * 1000000}, NULL) <= 0) {
    for (nfds_t i = 0; i <= receivers; i++) waits[i].revents = 0;
    return false;
  }
  return (waits[receivers].revents & POLLIN) != 0 && is_rung(waits[receivers].fd);
}

/* Answers one batch of each receiver that has something. False: JavaScript threw, and the exception is pending. */
static bool serve_ready(napi_env env, struct receiver **receivers, struct pollfd *waits, uint32_t number, bool *full) {
  *full = false;
  for (uint32_t i = 0; i < number; i++) {
    napi_handle_scope handles;
    napi_value handler;
    uint32_t answered;
    bool whole = false;
    if (waits[i].revents == 0 || !receivers[i]->open) continue;
    if (napi_open_handle_scope(env, &handles) != napi_ok) return false;
    bool fine = napi_get_reference_value(env, receivers[i]->handler, &handler) == napi_ok &&
                run_batches(receivers[i], handler, 1, &answered, &whole);
    napi_close_handle_scope(env, handles);
    if (!fine) return false;
    /* While batches come full, the socket is read again without asking whether it has something. */
    if (!whole) waits[i].revents = 0;
    *full = *full || whole;
  }
  return true;
}

static struct receiver *receiver_of(napi_env env, napi_value value);

/*
 * serve(receivers, alarm, milliseconds): answers what comes to the receivers until the alarm is rung or the time is up.
 * A handler that throws ends it: its batch is dropped.
 */
static napi_value serve_all(napi_env env, napi_callback_info info) {
  napi_value values[3], value;
  struct receiver *receivers[MAX_RECEIVERS];
  struct pollfd waits[MAX_RECEIVERS + 1];
  uint32_t number, milliseconds;
  int alarm;

  if (!take_arguments(env, info, 3, values) || !take_fd(env, values[1], &alarm) ||
      !take_uint32(env, values[2], 0, INT32_MAX, &milliseconds))
    return NULL;
  if (napi_get_array_length(env, values[0], &number) != napi_ok || number > MAX_RECEIVERS)
    return throw_bad(env, "serve() takes an array of at most 256 receivers");
  for (uint32_t i = 0; i < number; i++) {
    if (napi_get_element(env, values[0], i, &value) != napi_ok || !(receivers[i] = receiver_of(env, value))) return NULL;
    if (receivers[i]->running) return throw_bad(env, "a handler cannot serve its own receiver");
    waits[i] = (struct pollfd){receivers[i]->open ? receivers[i]->fd : -1, POLLIN, 0};
  }
  waits[number] = (struct pollfd){alarm, POLLIN, 0};

  const int64_t end_ms = now_ms() + milliseconds;
  bool full = false, rung = is_rung(alarm);
  while (!rung) {
    if (full) {
      rung = is_rung(alarm);
    } else {
      int64_t left_ms = end_ms - now_ms();
      rung = wait_for_any(waits, number, left_ms < 0 ? 0 : left_ms);
    }
    if (!serve_ready(env, receivers, waits, number, &full)) return NULL;
    if (now_ms() >= end_ms) break;
  }
  return NULL;
}

/* alarm(): the descriptor of a new alarm, which its owner closes */
static napi_value make_alarm(napi_env env, napi_callback_info info) {
  napi_value result;
  (void)info;
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return throw_errno(env, errno, "eventfd", "");
  if (napi_create_int32(env, fd, &result) == napi_ok) return result;
  close(fd);
  return NULL;
}

/* ring(alarm): ends the serve() that waits for it, or the next one. Any thread may. */
static napi_value ring_alarm(napi_env env, napi_callback_info info) {
  napi_value value;
  int fd;
  const uint64_t once = 1;
  if (!take_arguments(env, info, 1, &value) || !take_fd(env, value, &fd)) return NULL;
  /* EAGAIN: it was rung 2^64 times, which is often enough. */
  if (write(fd, &once, sizeof once) < 0 && errno != EAGAIN) return throw_errno(env, errno, "write", "eventfd");
  return NULL;
}

/*
 * setNice(nice): how readily this thread gives way to others, -20 to 19 as nice(2), which under Linux is a thread's own.
 * Whether it was allowed.
 */
static napi_value set_nice_value(napi_env env, napi_callback_info info) {
  napi_value value, result;
  double nice;
  if (!take_arguments(env, info, 1, &value)) return NULL;
  if (napi_get_value_double(env, value, &nice) != napi_ok || nice < -20 || nice > 19)
    return throw_bad(env, "a nice value is -20 to 19");
  bool done = setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), (int)nice) == 0;
  return napi_get_boolean(env, done, &result) == napi_ok ? result : NULL;
}

/* ---- the life of a receiver ---- */

static void on_environment_end(void *data);

static void release(struct receiver *r) {
  if (--r->owners > 0) return;
  free(r->in);
  free(r->out);
  free(r->in_octets);
  free(r->out_octets);
  free(r->control);
  free(r);
}

/* Leaves the socket at once. */
static void shut(struct receiver *r) {
  if (!r->open) return;
  count_kernel_drops(r);
  r->open = false;
  close(r->fd);
  napi_delete_reference(r->env, r->handler);
  napi_delete_reference(r->env, r->keep);
  napi_remove_env_cleanup_hook(r->env, on_environment_end, r);
  release(r);
}

static void on_environment_end(void *data) {
  shut(data);
}

static void on_collected(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  release(data);
}

static bool allocate(struct receiver *r) {
  r->in = calloc(r->batch, sizeof *r->in);
  r->out = calloc(r->batch, sizeof *r->out);
  r->in_octets = calloc(r->batch, sizeof *r->in_octets);
  r->out_octets = calloc(r->batch, sizeof *r->out_octets);
  r->control = calloc(r->batch, sizeof *r->control);
  if (!r->in || !r->out || !r->in_octets || !r->out_octets || !r->control) return false;
  for (unsigned i = 0; i < r->batch; i++) {
    struct msghdr *message = &r->in[i].msg_hdr;
    r->in_octets[i].iov_base = r->receive + (size_t)i * r->receive_slot;
    r->in_octets[i].iov_len = r->receive_slot;
    r->out_octets[i].iov_base = r->send + (size_t)i * r->send_slot;
    message->msg_name = r->peers + (size_t)i * PEER_OCTETS;
    message->msg_iov = &r->in_octets[i];
    message->msg_iovlen = 1;
    message->msg_control = &r->control[i];
    arm(r, i);
  }
  return true;
}

enum receive_argument {
  FD, BATCH, RECEIVE, RECEIVE_SLOT, RECEIVE_LENGTHS, SEND, SEND_SLOT, SEND_LENGTHS, PEERS, COUNTER_ARRAY,
  HANDLER, RECEIVE_ARGUMENTS
};

static bool take_receiver_arguments(napi_env env, const napi_value *values, struct receiver *r) {
  napi_valuetype type;
  if (!take_fd(env, values[FD], &r->fd) || !take_uint32(env, values[BATCH], 1, MAX_BATCH, &r->batch) ||
      !take_uint32(env, values[RECEIVE_SLOT], 1, UINT16_MAX, &r->receive_slot) ||
      !take_uint32(env, values[SEND_SLOT], 1, UINT16_MAX, &r->send_slot))
    return false;
  if (!(r->receive = take_array(env, values[RECEIVE], napi_uint8_array, (size_t)r->batch * r->receive_slot)) ||
      !(r->send = take_array(env, values[SEND], napi_uint8_array, (size_t)r->batch * r->send_slot)) ||
      !(r->peers = take_array(env, values[PEERS], napi_uint8_array, (size_t)r->batch * PEER_OCTETS)) ||
      !(r->receive_lengths = take_array(env, values[RECEIVE_LENGTHS], napi_int32_array, r->batch)) ||
      !(r->send_lengths = take_array(env, values[SEND_LENGTHS], napi_int32_array, r->batch)) ||
      !(r->counters = take_array(env, values[COUNTER_ARRAY], napi_biguint64_array, COUNTERS)))
    return false;
  if (napi_typeof(env, values[HANDLER], &type) != napi_ok || type != napi_function) {
    throw_bad(env, "the last argument must be a function");
    return false;
  }
  return true;
}

/*
 * receive(fd, batch, receive, receiveSlot, receiveLengths, send, sendSlot, sendLengths, peers, counters, handler): an object to
 * give to serve(), drain() and close(). Reads a duplicate of fd, so fd may be closed or kept as its owner likes.
 */
static napi_value receive_on(napi_env env, napi_callback_info info) {
  napi_value values[RECEIVE_ARGUMENTS], result, keep;
  union address local;
  socklen_t length = sizeof local;

  if (!take_arguments(env, info, RECEIVE_ARGUMENTS, values)) return NULL;
  struct receiver *r = calloc(1, sizeof *r);
  if (!r) return throw_errno(env, ENOMEM, "calloc", "");
  r->env = env;
  r->owners = 1;
  if (!take_receiver_arguments(env, values, r)) {
    release(r);
    return NULL;
  }
  memset(&local, 0, sizeof local);
  if (getsockname(r->fd, &local.any, &length) != 0) {
    int number = errno;
    release(r);
    return throw_errno(env, number, "getsockname", "");
  }
  if (get_int(r->fd, SOL_SOCKET, SO_TYPE) != SOCK_DGRAM ||
      (local.any.sa_family != AF_INET && local.any.sa_family != AF_INET6)) {
    release(r);
    return throw_errno(env, EPROTOTYPE, "receive", "");
  }
  prepare_datagram(r->fd, &local);
  r->fd = fcntl(r->fd, F_DUPFD_CLOEXEC, 3);
  if (r->fd < 0) {
    int number = errno;
    release(r);
    return throw_errno(env, number, "fcntl", "");
  }
  if (!allocate(r)) {
    close(r->fd);
    release(r);
    return throw_errno(env, ENOMEM, "calloc", "");
  }
  r->open = true;
  bool fine = napi_create_object(env, &result) == napi_ok && napi_create_array(env, &keep) == napi_ok;
  for (uint32_t i = 0; fine && i < RECEIVE_ARGUMENTS; i++) fine = napi_set_element(env, keep, i, values[i]) == napi_ok;
  fine = fine && napi_create_reference(env, keep, 1, &r->keep) == napi_ok &&
         napi_create_reference(env, values[HANDLER], 1, &r->handler) == napi_ok &&
         napi_add_env_cleanup_hook(env, on_environment_end, r) == napi_ok &&
         napi_type_tag_object(env, result, &RECEIVER_TAG) == napi_ok;
  if (fine && napi_wrap(env, result, r, on_collected, NULL, NULL) == napi_ok) {
    r->owners++;
    return result;
  }
  shut(r);
  return throw_code(env, "ERR_BATCH", "could not start");
}

static struct receiver *receiver_of(napi_env env, napi_value value) {
  void *data = NULL;
  bool tagged = false;
  if (napi_check_object_type_tag(env, value, &RECEIVER_TAG, &tagged) == napi_ok && tagged &&
      napi_unwrap(env, value, &data) == napi_ok)
    return data;
  throw_bad(env, "not a receiver");
  return NULL;
}

static struct receiver *take_receiver(napi_env env, napi_callback_info info) {
  napi_value value;
  return take_arguments(env, info, 1, &value) ? receiver_of(env, value) : NULL;
}

/* drain(receiver): answers what is queued right now, without waiting; how many that were. */
static napi_value drain_receiver(napi_env env, napi_callback_info info) {
  struct receiver *r = take_receiver(env, info);
  napi_value handler, result;
  uint32_t answered = 0;
  bool full;
  if (!r) return NULL;
  if (r->running) return throw_bad(env, "a handler cannot drain its own receiver");
  if (r->open && napi_get_reference_value(env, r->handler, &handler) == napi_ok &&
      !run_batches(r, handler, MAX_DRAIN_BATCHES, &answered, &full))
    return NULL;
  return napi_create_uint32(env, answered, &result) == napi_ok ? result : NULL;
}

/* trim(): gives the pages that malloc holds and nobody uses back to the system, of all threads (malloc_trim(3)). */
static napi_value trim_memory(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return NULL;
}

/* close(receiver): stops at once and for good; again is harmless. */
static napi_value close_receiver(napi_env env, napi_callback_info info) {
  struct receiver *r = take_receiver(env, info);
  if (r) shut(r);
  return NULL;
}

NAPI_MODULE_INIT() {
  napi_value version;
  const napi_property_descriptor functions[] = {
      {"bind", NULL, bind_socket, NULL, NULL, NULL, napi_enumerable, NULL},
      {"describe", NULL, describe_socket, NULL, NULL, NULL, napi_enumerable, NULL},
      {"duplicate", NULL, duplicate_socket, NULL, NULL, NULL, napi_enumerable, NULL},
      {"steer", NULL, steer_group, NULL, NULL, NULL, napi_enumerable, NULL},
      {"unsteer", NULL, unsteer_group, NULL, NULL, NULL, napi_enumerable, NULL},
      {"receive", NULL, receive_on, NULL, NULL, NULL, napi_enumerable, NULL},
      {"serve", NULL, serve_all, NULL, NULL, NULL, napi_enumerable, NULL},
      {"alarm", NULL, make_alarm, NULL, NULL, NULL, napi_enumerable, NULL},
      {"ring", NULL, ring_alarm, NULL, NULL, NULL, napi_enumerable, NULL},
      {"trim", NULL, trim_memory, NULL, NULL, NULL, napi_enumerable, NULL},
      {"setNice", NULL, set_nice_value, NULL, NULL, NULL, napi_enumerable, NULL},
      {"drain", NULL, drain_receiver, NULL, NULL, NULL, napi_enumerable, NULL},
      {"close", NULL, close_receiver, NULL, NULL, NULL, napi_enumerable, NULL},
  };
  if (napi_define_properties(env, exports, sizeof functions / sizeof *functions, functions) != napi_ok ||
      napi_create_uint32(env, API_VERSION, &version) != napi_ok ||
      napi_set_named_property(env, exports, "apiVersion", version) != napi_ok)
    return NULL;
  return exports;
}
