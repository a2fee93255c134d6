import t from 'tap'
import { findWildcardHost } from '../../../core/http/host/wildcard-host.ts'
import { readProfile } from '../../../platform/settings/command.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { mergeSettings, SettingsError } from '../../../platform/settings/sources.ts'
import { listProblems } from '../../fixtures/settings-problems.ts'

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory'

const toProblems = (flags: readonly string[]) => listProblems(() => mergeSettings(readFlags(flags)))

t.test('enable_acme enables TLS and normalizes host names', async (t) => {
  const flags = ['--enable_acme', '--acme_hosts=A.test., b.test,a.test,bücher.example']
  t.match(mergeSettings(readFlags(flags)), {
    enableTls: true,
    acmeHosts: ['a.test', 'b.test', 'xn--bcher-kva.example'],
    acmeDirectory: LETS_ENCRYPT,
    acmeAddress: { host: findWildcardHost(), port: 80 },
    acmeEmail: '',
  })
  const onDemandFlags = [
    '--enable_acme',
    '--acme_ask=https://rule.test/may',
    '--acme_email=mailto:a@b.test',
  ]
  t.match(mergeSettings(readFlags(['--enable_acme'])), { acmeAsk: '', acmeHosts: [] })
  t.match(mergeSettings(readFlags(onDemandFlags)), { acmeEmail: 'a@b.test', acmeHosts: [] })
})

t.test('rejects an invalid certificate setting with the expected form', async (t) => {
  const cases: [string[], RegExp][] = [
    [
      ['--enable_acme', '--acme_hosts=*.a.test'],
      /^--acme_hosts must be names of hosts such as app\.example\.com, got "\*\.a\.test", and wildcards have no HTTP challenge$/,
    ],
    [
      ['--enable_acme', '--acme_hosts=10.0.0.1'],
      /^--acme_hosts must be names of hosts .* got "10\.0\.0\.1"$/,
    ],
    [['--enable_acme', '--acme_hosts=a_b.test'], /^--acme_hosts must be names of hosts/],
    [['--acme_hosts=a.test'], /^--acme_hosts has no effect without enable_acme/],
    [
      ['--enable_acme', '--acme_hosts=a.test', '--acme_directory=http://a.test'],
      /^--acme_directory must be a URL such as https:/,
    ],
    [
      ['--enable_acme', '--acme_ask=rule'],
      /^--acme_ask must be a URL such as http:.*, got "rule"$/,
    ],
    [
      ['--enable_acme', '--acme_hosts=a.test', '--acme_email=me'],
      /^--acme_email must be an address such as admin@example\.com, got "me"$/,
    ],
    [
      ['--enable_acme', '--acme_hosts=a.test', '--acme_eab_kid=k'],
      /^--acme_eab_kid: acme_eab_kid and acme_eab_key require each other$/,
    ],
    [
      ['--enable_tls', '--tls_cert_file=self-signed,a.pem'],
      /^--tls_cert_file must be files, or self-signed alone/,
    ],
    [
      ['--enable_tls', '--tls_cert_file=self-signed', '--tls_key_file=a.key'],
      /^--tls_key_file: tls_cert_file=self-signed generates its own key/,
    ],
  ]
  for (const [flags, problem] of cases) t.match(toProblems(flags)[0], problem, flags.join(' '))
  t.same(
    toProblems(['--enable_acme=false', '--acme_hosts=a.test']),
    [],
    'the other settings may stay while ACME is off',
  )
})

t.test(
  'enable_tls without files uses a self-signed certificate in the local profile only',
  async (t) => {
    const flags = readFlags(['--enable_tls'], 'server')
    t.match(mergeSettings(flags, readProfile('local')), { tlsCertFiles: ['self-signed'] })
    const files = readFlags(['--enable_tls', '--tls_cert_file=a', '--tls_key_file=b'], 'server')
    t.match(mergeSettings(files, readProfile('local')), { tlsCertFiles: ['a'], tlsKeyFiles: ['b'] })
    for (const profile of ['test', 'cluster', 'kubernetes'] as const)
      t.throws(() => mergeSettings(flags, readProfile(profile)), {
        name: SettingsError.name,
        message: /^--enable_tls: TLS certificate and key files not specified/,
      })
    t.match(
      mergeSettings(readProfile('local')),
      { enableTls: false },
      'TLS is off without enable_tls',
    )
  },
)
