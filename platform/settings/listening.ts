import type { Settings } from './settings.ts'
import type { SettingsInput } from './sources.ts'

/** What is wrong with how listeners were asked for, one line each. */
export function checkListening(settings: Settings, given: SettingsInput): string[] {
  const { listener, enableTls, http2, http2Address, tlsClientCa, tlsClientAuth } = settings
  const problems: string[] = []
  const report = (key: keyof Settings, problem: string): void => {
    problems.push(`${given.get(key)?.source}: ${problem}`)
  }
  if (http2Address !== undefined && http2 === 'off')
    report('http2Address', 'http2_address serves HTTP/2, which http2=off forbids')
  if (http2 === 'cleartext' && listener === 'uws' && http2Address === undefined) {
    report(
      'http2',
      'http2=cleartext needs --listener=node, or an --http2_address beside the listener uws, which has no HTTP/2',
    )
  }
  if (tlsClientCa === '') {
    if (tlsClientAuth === 'optional')
      report('tlsClientAuth', 'tls_client_auth has no effect without tls_client_ca')
    return problems
  }
  if (!enableTls) report('tlsClientCa', 'tls_client_ca has no effect without enable_tls')
  if (listener === 'uws') {
    report(
      'tlsClientCa',
      'tls_client_ca needs --listener=node: uWebSockets cannot require client certificates',
    )
  }
  return problems
}
