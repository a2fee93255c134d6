import { isServiceName } from '../../core/registry/service-name.ts'

/** The name that the runtime gave to a service of this process, and the name that has in the code. */
let renamed: { readonly from: string; readonly to: string } | undefined

/**
 * The name of a service: that of its code, except for the first service of a program that a runtime runs, which has that of the
 * runtime object (specification: Command line, `run --name`). The account of the program may register no other.
 *
 * @param name in the code.
 * @throws {TypeError} when a later service has the name that the first one was given: callers would reach either of the two.
 */
export function toRuntimeName(name: string): string {
  const { MX_INSTANCE, MX_SERVICE_NAME = '' } = process.env
  if (MX_INSTANCE === undefined || !isServiceName(MX_SERVICE_NAME)) return name
  renamed ??= { from: name, to: MX_SERVICE_NAME }
  if (name === renamed.from) return renamed.to
  if (name === renamed.to)
    throw new TypeError(
      `the service ${renamed.from} of this program runs as ${name} (MX_SERVICE_NAME): create ${name} first, or run each service as a program of its own (mx run --name)`,
    )
  return name
}
