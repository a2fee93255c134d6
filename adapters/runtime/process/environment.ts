/** What of the server's own environment is no secret, and of the machine. */
const PASSED = ['PATH', 'LANG', 'LANGUAGE', 'LC_ALL', 'LC_CTYPE', 'TZ']

/** What a copy is told that others of its workload are not. */
export interface InstanceVariables {
  readonly instance: string
  readonly home: string
  readonly temp: string
  /** Where it is to listen; undefined: where it wants. */
  readonly port: number | undefined
}

/** The variable all processes of a copy are known by. */
export function toMark(instance: string): string {
  return `MX_INSTANCE=${instance}`
}

/** Source of the mounts of an isolated copy ({@link SandboxedRun.mountSource}): its processes are known by it as well. */
export function toMountSource(instance: string): string {
  return `mx-${instance}`
}

/**
 * The whole environment of a copy. Nothing of the server's but what is listed here gets in.
 *
 * @param own of its workload.
 */
export function toEnvironment(
  own: Readonly<Record<string, string>>,
  { instance, home, temp, port }: InstanceVariables,
): Record<string, string> {
  const passed = PASSED.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  })
  return {
    ...Object.fromEntries(passed),
    HOME: home,
    TMPDIR: temp,
    ...own,
    MX_INSTANCE: instance,
    ...(port !== undefined && { PORT: String(port) }),
  }
}
