import { inspect } from 'node:util'

/** What a log is handed: details and a message, or a message alone. */
type LogArguments = [details: unknown, message?: string | undefined, ...values: unknown[]]

/** Options of pino with which no log throws into the program that writes to it. */
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
 * Guards a log against what it is to write: errors that are frozen, getters and proxies that throw, a `write` that fails.
 * The line is then written without what could not be read; where there is none at all, it is dropped.
 *
 * @param toFields what the library makes of an error: `pino.stdSerializers.err`.
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

/** An error the library cannot read: `inspect` runs next to nothing of the object's own. */
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
