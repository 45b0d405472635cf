/*
 * The physical floor: a UDP server that receives and sends in batches and does nothing else. Every request comes
 * back with the QR bit set, three answers announced and 48 octets more, so that as many octets go out as
 * a DNS server sends for a name with three addresses (3 x (2 + 2 + 2 + 4 + 2 + 4), RFC 1035 §3.2.1).
 *
 *   echo PORT [ADDRESS]        ends when it is killed
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { BATCH = 64, SLOT = 2048, ANSWER_OCTETS = 48, HEADER_OCTETS = 12 };

static unsigned char octets[BATCH][SLOT + ANSWER_OCTETS];
static struct sockaddr_storage peers[BATCH];
static struct iovec in_octets[BATCH], out_octets[BATCH];
static struct mmsghdr in[BATCH], out[BATCH];

int main(int count, char **arguments) {
  struct sockaddr_in local = {.sin_family = AF_INET};
  int buffer = 1 << 20;
  if (count < 2) {
    fprintf(stderr, "usage: echo PORT [ADDRESS]\n");
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
      octets[i][7] = 3;     /* ANCOUNT */
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
