/** Library internals that are used to commit. */
interface NativeEnvironment {
  readonly startWriting: (address: unknown, onStatus: (status: number) => void) => void
}

/** Higher codes are errors from LMDB or the system (lmdb's `write.js`: startWriting). */
const LAST_GOOD_STATUS = 2

/**
 * Prevents the library from writing a stack trace to standard error for each failed transaction.
 * Callers receive the error, and a full disk would flood the output.
 *
 * @param root a database returned by `open`.
 */
export function silenceFailures(root: object): void {
  const { env } = root as { readonly env: NativeEnvironment }
  const startWriting = env.startWriting.bind(env)
  const silent: NativeEnvironment['startWriting'] = (address, onStatus) =>
    startWriting(address, (status) => {
      if (status <= LAST_GOOD_STATUS) onStatus(status)
      else runSilently(() => onStatus(status))
    })
  // The property of the prototype is read-only.
  Object.defineProperty(env, 'startWriting', { value: silent })
}

function runSilently(run: () => void): void {
  const output = console
  const { error } = output
  output.error = () => {}
  try {
    run()
  } finally {
    output.error = error
  }
}
