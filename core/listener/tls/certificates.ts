import type { TlsPair, TlsSource } from './tls.ts'

/** Certificates that do not come from files: somebody tells which there are. */
export interface TlsPairs extends TlsSource {
  /**
   * New connections use these from now on.
   *
   * @throws what a listener throws that cannot use them; the next call tells all listeners again.
   */
  readonly use: (pairs: readonly TlsPair[]) => void
}

/** Holds certificates for listeners, at first none. */
export function createTlsPairs(options: Pick<TlsSource, 'isStrict' | 'request'> = {}): TlsPairs {
  const listeners = new Set<(pairs: readonly TlsPair[]) => void>()
  let pairs: readonly TlsPair[] = []
  return {
    ...options,
    get pairs() {
      return pairs
    },
    use(next) {
      for (const listener of listeners) listener(next)
      pairs = next
    },
    reload() {},
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    watch() {},
    close() {},
  }
}
