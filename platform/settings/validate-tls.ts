import { SELF_SIGNED } from './parse/tls.ts'
import type { Settings, SettingsInput } from './settings.ts'

const ACME_KEYS = ['acmeHosts', 'acmeAsk', 'acmeEmail', 'acmeEabKid', 'acmeEabKey'] as const

/** Returns one-line problems with combinations of certificate settings. */
export function validateTls(settings: Settings, inputs: SettingsInput): readonly string[] {
  return settings.enableAcme ? validateAcme(settings, inputs) : validateFiles(settings, inputs)
}

function validateAcme(
  { acmeEabKid, acmeEabKey }: Settings,
  inputs: SettingsInput,
): readonly string[] {
  const problems: string[] = []
  if ((acmeEabKid === '') !== (acmeEabKey === ''))
    problems.push(
      `${(inputs.get('acmeEabKid') ?? inputs.get('acmeEabKey'))?.source}: acme_eab_kid and acme_eab_key require each other`,
    )
  return problems
}

function validateFiles(
  { enableTls, tlsCertFiles, tlsKeyFiles }: Settings,
  inputs: SettingsInput,
): readonly string[] {
  const acme = ACME_KEYS.map((key) => inputs.get(key)).find((input) => input !== undefined)
  if (acme !== undefined && !inputs.has('enableAcme'))
    return [`${acme.source} has no effect without enable_acme; set enable_acme to true or false`]
  const isSelfSigned = tlsCertFiles[0] === SELF_SIGNED
  const files = (isSelfSigned ? undefined : inputs.get('tlsCertFiles')) ?? inputs.get('tlsKeyFiles')
  if (!enableTls) {
    if (files === undefined || inputs.has('enableTls')) return []
    return [
      `${files.source} has no effect without enable_tls; set enable_tls to true, or to false for plain HTTP`,
    ]
  }
  if (isSelfSigned) {
    if (tlsKeyFiles.length === 0) return []
    return [
      `${files?.source}: tls_cert_file=self-signed generates its own key; set tls_cert_file as well`,
    ]
  }
  if (tlsCertFiles.length === 0 || tlsKeyFiles.length === 0) {
    return [
      `${inputs.get('enableTls')?.source}: TLS certificate and key files not specified: set tls_cert_file and tls_key_file, or enable_acme; for development, set tls_cert_file to ${SELF_SIGNED}`,
    ]
  }
  if (tlsCertFiles.length === tlsKeyFiles.length) return []
  return [
    `${files?.source}: tls_cert_file and tls_key_file must list the same number of files, got ${tlsCertFiles.length} and ${tlsKeyFiles.length}`,
  ]
}
