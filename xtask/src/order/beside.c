/* Has a program that runs under valgrind start itself by its own name.

   It starts the guards of its servers as /proc/self/exe, which under valgrind is valgrind. Functions are
   looked up by name, so these stand in for those of the C library. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <string.h>

static const char *itself(const char *file) {
  return strcmp(file, "/proc/self/exe") == 0 ? PROGRAM : file;
}

int execvp(const char *file, char *const arguments[]) {
  int (*next)(const char *, char *const[]) = dlsym(RTLD_NEXT, "execvp");
  return next(itself(file), arguments);
}

int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[],
                 char *const environment[]) {
  int (*next)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
              char *const[], char *const[]) = dlsym(RTLD_NEXT, "posix_spawnp");
  return next(child, itself(file), actions, attributes, arguments, environment);
}
