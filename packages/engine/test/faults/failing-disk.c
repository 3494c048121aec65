/*
 * Makes the disk of one process fail. Loaded before libc (LD_PRELOAD), it lets file calls for a path fail while a control file
 * says so. The errors are those of the kernel, so the rest of the process behaves as on a real failing disk.
 *
 *     FAULT_CONTROL  a file; its first line is "<what> <suffix of the path>", what being "sync" (EIO) or "space" (ENOSPC).
 *                    If it is missing or empty, nothing fails.
 *     FAULT_LOG      a file that gets one byte for each call that failed
 *
 * It can also kill the process right before a certain call:
 *
 *     FAULT_KILL_PATH  a part of the path of the files whose calls are counted
 *     FAULT_KILL_AT    the number of the write, sync or truncation of such a file, from 1, before which the process is killed
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static __thread int inside;

static atomic_int calls;

static void kill_at(int fd) {
  char link[64], path[4096];
  const char *part = getenv("FAULT_KILL_PATH"), *at = getenv("FAULT_KILL_AT");
  if (!part || !at || inside) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return;
  path[n] = 0;
  if (strstr(path, part) && atomic_fetch_add(&calls, 1) + 1 == atoi(at)) kill(getpid(), SIGKILL);
}

static int controlled(int fd, const char *what) {
  char control[512] = {0}, link[64], path[4096];
  const char *file = getenv("FAULT_CONTROL");
  if (!file || inside) return 0;
  inside = 1;
  int c = open(file, O_RDONLY);
  ssize_t n = c < 0 ? 0 : read(c, control, sizeof control - 1);
  if (c >= 0) close(c);
  inside = 0;
  size_t w = strlen(what);
  if (n <= (ssize_t)w || strncmp(control, what, w) != 0 || control[w] != ' ') return 0;
  control[strcspn(control, "\n")] = 0;
  const char *suffix = control + w + 1;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t p = readlink(link, path, sizeof path - 1);
  if (p < 0) return 0;
  path[p] = 0;
  size_t s = strlen(suffix);
  return (size_t)p >= s && strcmp(path + p - s, suffix) == 0;
}

static int fails(int fd, const char *what, int error) {
  kill_at(fd);
  if (!controlled(fd, what)) return 0;
  const char *log = getenv("FAULT_LOG");
  if (log) {
    inside = 1;
    int l = open(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (l >= 0) {
      (void)!write(l, "!", 1);
      close(l);
    }
    inside = 0;
  }
  errno = error;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int fd) { return fails(fd, "sync", EIO) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails(fd, "sync", EIO) ? -1 : REAL(fdatasync)(fd); }
ssize_t write(int fd, const void *b, size_t n) { return fails(fd, "space", ENOSPC) ? -1 : REAL(write)(fd, b, n); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) {
  return fails(fd, "space", ENOSPC) ? -1 : REAL(pwrite)(fd, b, n, o);
}
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) {
  return fails(fd, "space", ENOSPC) ? -1 : REAL(pwrite64)(fd, b, n, o);
}
ssize_t pwritev(int fd, const struct iovec *v, int n, off_t o) {
  return fails(fd, "space", ENOSPC) ? -1 : REAL(pwritev)(fd, v, n, o);
}
ssize_t pwritev64(int fd, const struct iovec *v, int n, off64_t o) {
  return fails(fd, "space", ENOSPC) ? -1 : REAL(pwritev64)(fd, v, n, o);
}
int ftruncate(int fd, off_t n) { return fails(fd, "cut", EIO) ? -1 : REAL(ftruncate)(fd, n); }
int ftruncate64(int fd, off64_t n) { return fails(fd, "cut", EIO) ? -1 : REAL(ftruncate64)(fd, n); }
