import type { Certificate, TlsSource } from './tls.ts'

/** Certificates that do not come from files: somebody tells which there are. */
export interface CertificateSource extends TlsSource {
  /**
   * New connections use these from now on.
   *
   * @throws what a listener throws that cannot use them; the next call tells all listeners again.
   */
  readonly use: (pairs: readonly Certificate[]) => void
}

/** Holds certificates for listeners, at first none. */
export function createCertificateSource(
  options: Pick<TlsSource, 'isStrict' | 'request'> = {},
): CertificateSource {
  const listeners = new Set<(pairs: readonly Certificate[]) => void>()
  let pairs: readonly Certificate[] = []
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
