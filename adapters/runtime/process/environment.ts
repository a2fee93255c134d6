/** Variables inherited from the server, which describe the machine and contain no secrets. */
const INHERITED = ['PATH', 'LANG', 'LANGUAGE', 'LC_ALL', 'LC_CTYPE', 'TZ']

/** Variables that are specific to an instance. */
export interface InstanceVariables {
  readonly instance: string
  readonly home: string
  readonly temp: string
  /** Port to listen on. If undefined, the program chooses it. */
  readonly port: number | undefined
}

/** Returns the variable that identifies all processes of an instance. */
export function toMark(instance: string): string {
  return `MX_INSTANCE=${instance}`
}

/**
 * Returns the mount source of an isolated instance ({@link SandboxedRun.mountSource}), which also
 * identifies its processes.
 */
export function toMountSource(instance: string): string {
  return `mx-${instance}`
}

/**
 * Returns the complete environment of an instance. Only the listed variables of the server are
 * inherited.
 *
 * @param workloadEnv variables of the workload.
 */
export function toEnvironment(
  workloadEnv: Readonly<Record<string, string>>,
  { instance, home, temp, port }: InstanceVariables,
): Record<string, string> {
  const inherited = INHERITED.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  })
  return {
    ...Object.fromEntries(inherited),
    HOME: home,
    TMPDIR: temp,
    ...workloadEnv,
    MX_INSTANCE: instance,
    ...(port !== undefined && { PORT: String(port) }),
  }
}
