import { inspect } from 'node:util'

/** Arguments of a log method: details and a message, or only a message. */
type LogArguments = [details: unknown, message?: string | undefined, ...values: unknown[]]

/** pino options that prevent log methods from throwing. */
export interface LogGuard {
  readonly serializers: { readonly err: (error: unknown) => unknown }
  readonly hooks: {
    readonly logMethod: (
      this: unknown,
      args: LogArguments,
      method: (...args: LogArguments) => void,
    ) => void
  }
}

const DETAIL_MAX = 4096

/**
 * Protects a log against frozen errors, throwing getters and proxies, and failing writes. In these cases the line is
 * written without the unreadable details, or dropped.
 *
 * @param toFields error serializer of the library, `pino.stdSerializers.err`.
 */
export function guardLog(toFields: (error: never) => unknown): LogGuard {
  return {
    serializers: { err: (error) => attempt(() => toFields(error as never)) ?? describe(error) },
    hooks: {
      logMethod(args, method) {
        try {
          method.apply(this, args)
        } catch (cause) {
          attempt(() => method.call(this, { unreadable: describe(cause).message }, toMessage(args)))
        }
      },
    },
  }
}

/** Describes an error that the library cannot serialize. `inspect` runs hardly any code of the object. */
function describe(error: unknown): { readonly message: string; readonly stack: string } {
  const stack = attempt(() => inspect(error, { depth: 1 }).slice(0, DETAIL_MAX)) ?? 'unreadable'
  return { message: stack.split('\n', 1)[0]!, stack }
}

function toMessage([details, message]: LogArguments): string | undefined {
  return typeof details === 'string' ? details : message
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
