import type { Certificate, TlsSource } from './tls.ts'

/** Certificates set by the program instead of read from files. */
export interface CertificateSource extends TlsSource {
  /**
   * Sets the certificates for new connections.
   *
   * @throws the error of a listener that cannot use them; the next call notifies all listeners again.
   */
  readonly use: (pairs: readonly Certificate[]) => void
}

/** Creates a source without certificates. */
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
