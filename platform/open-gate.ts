import { createGate } from '../core/auth/gate.ts'
import type { AuthSource, Gate } from '../core/contracts/auth.ts'
import type { Log } from './log.ts'

/** The gate of a server, which is there before the service it asks. */
export interface OwnGate {
  readonly gate: Gate
  /** Says whom to ask; until then nobody is let in, and who comes waits a little. */
  readonly ask: (source: AuthSource) => void
}

export function openGate(log: Log): OwnGate {
  let ask: (source: AuthSource) => void = () => {}
  const source = new Promise<AuthSource>((resolve) => {
    ask = resolve
  })
  const late: AuthSource = {
    async *watchRules(namespace, signal) {
      yield* (await source).watchRules(namespace, signal)
    },
    async *watchTokens(signal) {
      yield* (await source).watchTokens(signal)
    },
  }
  const gate = createGate(late, {
    onRefused: (reason) => log.info({ reason }, 'an access token is not taken'),
    onOutage(reason) {
      if (reason === undefined) log.info('rules and keys can be read again')
      else
        log.warn(
          { reason: reason.message },
          'rules and keys cannot be read; those known last stay in force',
        )
    },
  })
  return { gate, ask }
}
