import type { Settings } from '../settings/settings.ts'
import type { SettingsInput } from '../settings/sources.ts'
import { SELF_SIGNED } from '../settings/tls.ts'

const ACME_KEYS = ['acmeHosts', 'acmeAsk', 'acmeEmail', 'acmeEabKid', 'acmeEabKey'] as const

/** Returns inconsistencies between individually valid TLS settings, one line each. */
export function checkTls(settings: Settings, given: SettingsInput): readonly string[] {
  return settings.enableAcme ? checkAcme(settings, given) : checkFiles(settings, given)
}

function checkAcme({ acmeEabKid, acmeEabKey }: Settings, given: SettingsInput): readonly string[] {
  const problems: string[] = []
  if ((acmeEabKid === '') !== (acmeEabKey === ''))
    problems.push(
      `${(given.get('acmeEabKid') ?? given.get('acmeEabKey'))?.source}: acme_eab_kid and acme_eab_key require each other`,
    )
  return problems
}

function checkFiles(
  { enableTls, tlsCertFiles, tlsKeyFiles }: Settings,
  given: SettingsInput,
): readonly string[] {
  const acme = ACME_KEYS.map((key) => given.get(key)).find((setting) => setting !== undefined)
  if (acme !== undefined && !given.has('enableAcme'))
    return [`${acme.source} has no effect without enable_acme: set enable_acme to true or false`]
  const isSelfSigned = tlsCertFiles[0] === SELF_SIGNED
  const files = (isSelfSigned ? undefined : given.get('tlsCertFiles')) ?? given.get('tlsKeyFiles')
  if (!enableTls) {
    if (files === undefined || given.has('enableTls')) return []
    return [
      `${files.source} has no effect without enable_tls: set enable_tls to true, or to false for plain HTTP`,
    ]
  }
  if (isSelfSigned) {
    if (tlsKeyFiles.length === 0) return []
    return [
      `${files?.source}: tls_cert_file=self-signed generates its own key: set tls_cert_file to a file, too`,
    ]
  }
  if (tlsCertFiles.length === 0 || tlsKeyFiles.length === 0) {
    return [
      `${given.get('enableTls')?.source}: TLS certificate and key files not specified: set tls_cert_file and tls_key_file, or enable_acme; for development set tls_cert_file to ${SELF_SIGNED}`,
    ]
  }
  if (tlsCertFiles.length === tlsKeyFiles.length) return []
  return [
    `${files?.source}: tls_cert_file and tls_key_file must list the same number of files, got ${tlsCertFiles.length} and ${tlsKeyFiles.length}`,
  ]
}
