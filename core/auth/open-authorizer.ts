import type { Authorizer, AuthSource } from '../contracts/auth.ts'
import { isStopping } from '../is-stopping.ts'
import type { PluginLog } from '../plugin/define.ts'
import { createAuthorizer } from './authorizer.ts'
import { createDeferredSource } from './token/deferred-source.ts'

/** A gate that is there before whom it asks. */
export interface OpenedGate {
  readonly gate: Authorizer
  /** Says whom to ask; until then nobody is let in, and who comes waits a little. Once. */
  readonly ask: (source: AuthSource) => void
}

/** Opens a gate whose troubles are logged. */
export function openGate(log: PluginLog): OpenedGate {
  const { source, ask } = createDeferredSource()
  const gate = createAuthorizer(source, {
    onRefused: (reason) => log.info({ reason }, 'an access token is not taken'),
    onOutage(reason) {
      if (reason === undefined) log.info({}, 'rules and keys can be read again')
      else
        log[isStopping(reason) ? 'info' : 'warn'](
          { reason: reason.message },
          'rules and keys cannot be read; what is known of them stays in force',
        )
    },
  })
  return { gate, ask }
}
