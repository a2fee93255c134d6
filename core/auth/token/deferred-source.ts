import type { AuthSource } from '../../contracts/auth.ts'

/** A source that is there before it can be asked. */
export interface DeferredSource {
  readonly source: AuthSource
  /** Says whom to ask; who asked before waits until then. Once. */
  readonly ask: (source: AuthSource) => void
}

export function createDeferredSource(): DeferredSource {
  let ask: (source: AuthSource) => void = () => {}
  const later = new Promise<AuthSource>((resolve) => {
    ask = resolve
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
    },
    ask,
  }
}
