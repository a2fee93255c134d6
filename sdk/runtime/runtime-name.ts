import { isServiceName } from '../../core/registry/service-name.ts'

/** The renamed service of this process: its name in the code and the name set by the runtime. */
let renamed: { readonly from: string; readonly to: string } | undefined

/**
 * Name of a service: the name in the code. The first service of a program started by a runtime takes the name of the
 * runtime object instead (specification: Command line, `run --name`), because the program's account may not register
 * another name.
 *
 * @param name name in the code.
 * @throws {TypeError} if a later service has the name assigned to the first one, which would make calls ambiguous.
 */
export function toRuntimeName(name: string): string {
  const { MX_INSTANCE, MX_SERVICE_NAME = '' } = process.env
  if (MX_INSTANCE === undefined || !isServiceName(MX_SERVICE_NAME)) return name
  renamed ??= { from: name, to: MX_SERVICE_NAME }
  if (name === renamed.from) return renamed.to
  if (name === renamed.to)
    throw new TypeError(
      `the service ${renamed.from} of this program runs as ${name} (MX_SERVICE_NAME): create ${name} first, or run each service as a separate program (mx run --name)`,
    )
  return name
}
