import t from 'tap'
import { findWildcardHost } from '../../../core/http/host/wildcard-host.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { mergeSettings } from '../../../platform/settings/sources.ts'

const TLS = ['--enable_tls', '--tls_cert_file=a.crt', '--tls_key_file=a.key']

const merge = (...flags: string[]) => mergeSettings(readFlags(flags))

t.test(
  'http2 is tls by default, and cleartext with the node listener or an http2_address',
  async (t) => {
    const { listener, http2, http2Address, tlsClientCa } = merge()
    t.same([listener, http2, http2Address, tlsClientCa], ['uws', 'tls', undefined, ''])
    t.same(merge('--http2_address=:8443').http2Address, { host: findWildcardHost(), port: 8443 })
    t.equal(merge('--listener=node', '--http2=cleartext').http2, 'cleartext')
    t.equal(merge('--http2_address=:8443', '--http2=cleartext').http2, 'cleartext')
    t.equal(merge('--listener=node', ...TLS, '--tls_client_ca=ca.pem').tlsClientAuth, 'required')
  },
)

const invalid: [flags: string[], problem: RegExp][] = [
  [['--http2=on'], /^--http2 must be one of tls, cleartext, off, got "on"$/],
  [['--http2=cleartext'], /^--http2: http2=cleartext requires --listener=node or --http2_address,/],
  [['--http2_address=:1', '--http2=off'], /^--http2_address: .* which http2=off disables$/],
  [['--http2_address=8443'], /^--http2_address must be none, host:port or :port/],
  [
    ['--tls_client_ca=ca.pem', ...TLS],
    /^--tls_client_ca: tls_client_ca needs --listener=node: uWebSockets cannot require client certificates$/,
  ],
  [
    ['--tls_client_ca=ca.pem', '--listener=node'],
    /^--tls_client_ca: .*no effect without enable_tls$/,
  ],
  [['--tls_client_auth=optional'], /^--tls_client_auth: .*no effect without tls_client_ca$/],
  [
    ['--tls_client_auth=maybe'],
    /^--tls_client_auth must be one of required, optional, got "maybe"$/,
  ],
]
for (const [flags, problem] of invalid) {
  t.test(`rejects ${flags.join(' ')}`, async (t) => {
    t.throws(() => merge(...flags), { message: problem })
  })
}
