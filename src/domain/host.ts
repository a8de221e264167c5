import { z } from 'zod';

/** A graphics processor; null where its driver does not say, as of one that is shared out (MIG). */
export const gpuSchema = z.object({
  name: z.string(),
  /** Part of the time in which it computed, in [0, 1]. */
  utilisation: z.number().min(0).max(1).nullable(),
  usedMiB: z.number().nonnegative().nullable(),
  totalMiB: z.number().nonnegative().nullable(),
});
export type Gpu = Readonly<z.infer<typeof gpuSchema>>;

/** How a machine is, whoever uses it. */
export const hostFiguresSchema = z.object({
  cores: z.int().positive(),
  /** Mean number of processes that wanted a core over the last minute; null where the platform does not say. */
  load: z.number().nonnegative().nullable(),
  usedMiB: z.number().nonnegative(),
  totalMiB: z.number().positive(),
  gpus: z.array(gpuSchema),
});
export type HostFigures = Readonly<z.infer<typeof hostFiguresSchema>>;

/** What a host may run. */
export const HOST_ROLES = ['worker', 'trainer'] as const;
export type HostRole = (typeof HOST_ROLES)[number];

/**
 * A machine that runs children. Unset: `roles` is both for this machine and `worker` for one reached by ssh; `workers`
 * is 1 where the role is given, else 0.
 */
export const hostSpecSchema = z
  .strictObject({
    name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u, 'letters, digits, ".", "_" and "-"'),
    /** Where ssh goes (`user@host` or an alias of ssh_config); null is this machine. Never begins with "-". */
    ssh: z
      .string()
      .regex(/^[A-Za-z0-9_][A-Za-z0-9_.@:%[\]-]*$/u, 'a target that ssh knows, as in "user@host"')
      .nullable()
      .default(null),
    /** Further arguments of ssh, one word each: `["-p", "2222"]`. */
    sshOptions: z.array(z.string()).default([]),
    roles: z.array(z.enum(HOST_ROLES)).min(1).optional(),
    workers: z.int().min(0).max(1024).optional(),
    /** How to start the lab there, as its shell reads it: a program and its arguments. Null: see docs/HOSTS.md. */
    command: z
      .string()
      .regex(/^[^\s\p{Cc}][^\p{Cc}]*$/u, 'a program and its arguments on one line')
      .nullable()
      .default(null),
  })
  .transform(({ name, ssh, sshOptions, command, ...given }) => {
    const roles: readonly HostRole[] = given.roles ?? (ssh === null ? HOST_ROLES : ['worker']);
    const workers = given.workers ?? (roles.includes('worker') ? 1 : 0);
    return { name, ssh, sshOptions, roles, workers, command };
  });
export type HostSpec = Readonly<z.output<typeof hostSpecSchema>>;
