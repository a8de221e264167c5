import { defineConfig } from 'vitest/config';

/** Folders whose tests start whole trees of processes: one file at a time, or on two cores they only disturb each other. */
const PROCESS_TESTS = ['test/{cli,e2e,faults,hosts}/**/*.test.ts'];

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.{ts,tsx}'],
          exclude: PROCESS_TESTS,
          testTimeout: 30_000,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          globalSetup: ['test/support/build.ts'],
          include: PROCESS_TESTS,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
