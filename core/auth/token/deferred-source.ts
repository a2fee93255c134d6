import type { AuthSource } from '../../contracts/auth.ts'

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
    },
    setSource: setSource,
  }
}
