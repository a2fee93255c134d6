import type { Authorizer, AuthSource } from '../contracts/auth.ts'
import { isStopping } from '../is-stopping.ts'
import type { PluginLog } from '../plugin/define.ts'
import { createAuthorizer } from './authorizer.ts'
import { createDeferredSource } from './token/deferred-source.ts'

/** An authorizer whose source is connected later. */
export interface DeferredAuthorizer {
  readonly authorizer: Authorizer
  /** Connects the source. Until then, calls wait briefly and are then denied. Must be called once. */
  readonly setSource: (source: AuthSource) => void
}

/** Creates an authorizer that logs outages and rejected tokens. */
export function createDeferredAuthorizer(log: PluginLog): DeferredAuthorizer {
  const { source, setSource } = createDeferredSource()
  const authorizer = createAuthorizer(source, {
    onDenied: (reason) => log.info({ reason }, 'access token rejected'),
    onOutage(reason) {
      if (reason === undefined) log.info({}, 'rules and keys available again')
      else
        log[isStopping(reason) ? 'info' : 'warn'](
          { reason: reason.message },
          'rules and keys unavailable, using cached ones',
        )
    },
  })
  return { authorizer, setSource }
}
