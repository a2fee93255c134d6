import { X509Certificate } from 'node:crypto'
import type { RenewalWindow } from './client/client.ts'

/** Validity period of a certificate, Unix time in milliseconds. */
export interface Validity {
  readonly fromMs: number
  readonly toMs: number
}

/** Fraction of the lifetime after which a certificate is renewed. */
const LIFE_USED = 2 / 3
/**
 * Fraction of the lifetime over which renewals are spread, so that certificates issued on the same
 * day are renewed on different days.
 */
const LIFE_SPREAD = 1 / 30
/** Upper limit, because a directory may have to revoke a new certificate. */
const REST_MAX_MS = 6 * 3600 * 1000
/** Check interval if the response has no `Retry-After` (RFC 9773 §4.3). */
const CHECK_MS = 6 * 3600 * 1000
const CHECK_MIN_MS = 60 * 1000
const CHECK_MAX_MS = 24 * 3600 * 1000

/** Reads the validity of the first certificate in a PEM chain. */
export function readValidity(cert: string): Validity {
  const { validFrom, validTo } = new X509Certificate(cert)
  return { fromMs: Date.parse(validFrom), toMs: Date.parse(validTo) }
}

/** Returns the renewal time without ARI: after two thirds of the lifetime, plus jitter. */
export function toRenewMs({ fromMs, toMs }: Validity, random: () => number): number {
  return Math.round(fromMs + (toMs - fromMs) * (LIFE_USED + LIFE_SPREAD * random()))
}

/**
 * Returns the minimum age of a certificate at its renewal in milliseconds. It prevents an endless
 * loop of orders if an incorrect clock or the directory makes each new certificate appear due.
 */
export function toRestMs({ fromMs, toMs }: Validity): number {
  return Math.min((toMs - fromMs) / 2, REST_MAX_MS)
}

/**
 * Returns a random time in the suggested window (RFC 9773 §4.2), which is stable while the window
 * does not change.
 */
export function pickTime(
  window: RenewalWindow,
  previous: { readonly window: RenewalWindow; readonly renewMs: number } | undefined,
  random: () => number,
): number {
  const { startMs, endMs } = window
  const isSame = previous?.window.startMs === startMs && previous.window.endMs === endMs
  return isSame ? previous.renewMs : Math.round(startMs + (endMs - startMs) * random())
}

/** Returns the milliseconds until the next check of the renewal window. */
export function toNextCheckMs({
  retryAfterMs = CHECK_MS,
}: {
  readonly retryAfterMs?: number | undefined
}): number {
  return Math.min(Math.max(retryAfterMs, CHECK_MIN_MS), CHECK_MAX_MS)
}

/**
 * Returns the ARI certificate id (RFC 9773 §4.1), or undefined if the certificate has no authority
 * key identifier.
 */
export async function toCertificateId(cert: string): Promise<string | undefined> {
  const { default: forge } = await import('node-forge')
  const { asn1, pki } = forge
  const { raw } = new X509Certificate(cert)
  const [tbs] = asn1.fromDer(forge.util.createBuffer(raw.toString('latin1'))).value as Node[]
  const fields = tbs!.value as Node[]
  const isContext = ({ tagClass }: Node): boolean => tagClass === asn1.Class.CONTEXT_SPECIFIC
  const serial = fields.find((field) => !isContext(field))
  const extensions = fields.find((field) => isContext(field) && field.type === 3)
  const [list] = (extensions?.value ?? []) as Node[]
  for (const extension of (list?.value ?? []) as Node[]) {
    const [oid, ...rest] = extension.value as Node[]
    if (asn1.derToOid(oid!.value as string) !== pki.oids['authorityKeyIdentifier']) continue
    const identifier = asn1.fromDer(rest.at(-1)!.value as string).value as Node[]
    const keyId = identifier.find(({ type }) => type === 0)
    if (keyId === undefined) return undefined
    return [keyId, serial!].map(({ value }) => toBase64Url(value as string)).join('.')
  }
  return undefined
}

type Node = import('node-forge').asn1.Asn1

function toBase64Url(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('base64url')
}
