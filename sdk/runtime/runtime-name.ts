import { isServiceName } from '../../core/registry/service-name.ts'

/** Name in the code and name set by the runtime, of the renamed service of this process. */
let renamed: { readonly from: string; readonly to: string } | undefined

/**
 * Name of a service: that in the code, except for the first service of a program started by a runtime, which gets the
 * name of the runtime object (specification: Command line, `run --name`). The account of the program may not register
 * another name.
 *
 * @param name in the code.
 * @throws {TypeError} when a later service has the name given to the first one: calls would be ambiguous.
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
