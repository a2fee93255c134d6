import type { AuthSource } from '../../contracts/auth.ts'
import type { RequestQuotas } from '../../contracts/request-quotas.ts'
import { GatewayError } from '../../errors.ts'

/** A source that is connected later. */
export interface DeferredSource {
  readonly source: AuthSource
  /** Connects the source, for which earlier requests wait. Must be called once. */
  readonly setSource: (source: AuthSource) => void
}

export function createDeferredSource(): DeferredSource {
  let setSource: (source: AuthSource) => void = () => {}
  const later = new Promise<AuthSource>((resolve) => {
    setSource = resolve
  })
  return {
    source: {
      async *watchRules(namespace, signal) {
        yield* (await later).watchRules(namespace, signal)
      },
      async *watchNamespaces(signal) {
        yield* (await later).watchNamespaces(signal)
      },
      async *watchTokens(signal) {
        yield* (await later).watchTokens(signal)
      },
      async verifyApiKey(key) {
        return (await later).verifyApiKey?.(key)
      },
      requestQuotas: {
        reserve: async (reservation) => findQuotas(await later).reserve(reservation),
        release: async (release) => findQuotas(await later).release(release),
      },
    },
    setSource: setSource,
  }
}

function findQuotas({ requestQuotas }: AuthSource): RequestQuotas {
  if (requestQuotas !== undefined) return requestQuotas
  throw new GatewayError('auth', 501, 'the auth service does not count requests')
}
