/** What the library uses of its native part, to commit. */
interface NativeEnvironment {
  readonly startWriting: (address: unknown, onStatus: (status: number) => void) => void
}

/** More is an error of LMDB or of the system (lmdb's `write.js`: startWriting). */
const LAST_GOOD_STATUS = 2

/**
 * Keeps the library from writing a stack to standard error for every transaction that fails: who began it is told, and on a full
 * disk it would be a flood.
 *
 * @param root a database as `open` returns it.
 */
export function silenceFailures(root: object): void {
  const { env } = root as { readonly env: NativeEnvironment }
  const startWriting = env.startWriting.bind(env)
  const silent: NativeEnvironment['startWriting'] = (address, onStatus) =>
    startWriting(address, (status) => {
      if (status <= LAST_GOOD_STATUS) onStatus(status)
      else runSilently(() => onStatus(status))
    })
  // That of the prototype cannot be assigned to.
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
