/*
 * Runs a compiled network once. Its bundle (docs/targets.md) is in the include path and linked in.
 *
 * The program reads weights.bin, and input0.bin, input1.bin, ... of raw numbers, from the folder
 * where it runs, and writes output0.bin, output1.bin, ...
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "network.h"

static void fail(const char *what, const char *name) {
  fprintf(stderr, "cannot %s %s\n", what, name);
  exit(1);
}

static char *memory(size_t size) {
  char *data = aligned_alloc(GLOW_ALIGNMENT, (size / GLOW_ALIGNMENT + 1) * GLOW_ALIGNMENT);
  if (!data) fail("allocate", "memory");
  return data;
}

static char *load(const char *name, size_t size) {
  char *data = memory(size);
  FILE *file = fopen(name, "rb");
  if (!file || fread(data, 1, size, file) != size) fail("read", name);
  fclose(file);
  return data;
}

static void save(const char *name, const char *data, size_t size) {
  FILE *file = fopen(name, "wb");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file)) fail("write", name);
}

#if GLOW_THREADS == 1

static void run(const void *weights, void *const *io, void *arena) {
  glow_main(weights, io, arena);
}

#else

/* How often a thread looks before it sleeps: some 50 microseconds where each has a processor. */
#ifndef SPINS
#define SPINS 1000
#endif

static char team[GLOW_TEAM_BYTES] __attribute__((aligned(GLOW_ALIGNMENT)));

/* A program that runs the network often starts its workers once. */
static void run(const void *weights, void *const *io, void *arena) {
  pthread_t workers[GLOW_THREADS];
  *(int64_t *)(team + GLOW_TEAM_THREADS) = GLOW_THREADS;
  *(int64_t *)(team + GLOW_TEAM_SPINS) = SPINS;
  *(int64_t *)(team + GLOW_TEAM_IDLE_SPINS) = SPINS;
  for (int64_t t = 1; t < GLOW_THREADS; t++) {
    char *line = team + GLOW_LINES + t * GLOW_LINE;
    *(void **)(line + GLOW_LINE_TEAM) = team;
    *(int64_t *)(line + GLOW_LINE_THREAD) = t;
    if (pthread_create(&workers[t], NULL, glow_worker, line)) fail("start", "a thread");
  }
  glow_run(team, glow_main, weights, io, arena);
  glow_end(team);
  for (int t = 1; t < GLOW_THREADS; t++) pthread_join(workers[t], NULL);
}

#endif

int main(void) {
  const size_t input_bytes[GLOW_INPUTS + 1] = GLOW_INPUT_BYTES;
  const size_t output_bytes[GLOW_OUTPUTS + 1] = GLOW_OUTPUT_BYTES;
  void *io[GLOW_INPUTS + GLOW_OUTPUTS + 1];
  char name[32];

  for (int i = 0; i < GLOW_INPUTS; i++) {
    snprintf(name, sizeof name, "input%d.bin", i);
    io[i] = load(name, input_bytes[i]);
  }
  for (int i = 0; i < GLOW_OUTPUTS; i++) io[GLOW_INPUTS + i] = memory(output_bytes[i]);
  run(load("weights.bin", GLOW_WEIGHT_BYTES), io, memory(GLOW_ARENA_BYTES));
  for (int i = 0; i < GLOW_OUTPUTS; i++) {
    snprintf(name, sizeof name, "output%d.bin", i);
    save(name, io[GLOW_INPUTS + i], output_bytes[i]);
  }
  return 0;
}
