import { X509Certificate } from 'node:crypto'
import type { RenewalWindow } from './client/client.ts'

/** When a certificate is good, unix time in milliseconds. */
export interface Validity {
  readonly fromMs: number
  readonly toMs: number
}

/** Of its life, after which a certificate is renewed. */
const LIFE_USED = 2 / 3
/** Of its life, over which renewals are spread: many certificates of one day are not renewed in one. */
const LIFE_SPREAD = 1 / 30
/** Not for longer: a directory may have to revoke what it has just issued. */
const REST_MAX_MS = 6 * 3600 * 1000
/** RFC 9773 §4.3: how often a directory is asked that does not say how often. */
const ASK_AGAIN_MS = 6 * 3600 * 1000
const ASK_AGAIN_MIN_MS = 60 * 1000
const ASK_AGAIN_MAX_MS = 24 * 3600 * 1000

/** Of the first certificate of a PEM text. */
export function readValidity(cert: string): Validity {
  const { validFrom, validTo } = new X509Certificate(cert)
  return { fromMs: Date.parse(validFrom), toMs: Date.parse(validTo) }
}

/** When to renew, where the directory does not say: at two thirds of the lifetime, and a little later. */
export function toRenewMs({ fromMs, toMs }: Validity, random: () => number): number {
  return Math.round(fromMs + (toMs - fromMs) * (LIFE_USED + LIFE_SPREAD * random()))
}

/**
 * How long a certificate is left alone that has just been had, milliseconds: whatever says then that it is due, a wrong clock
 * or the directory, may say so of each that follows.
 */
export function toRestMs({ fromMs, toMs }: Validity): number {
  return Math.min((toMs - fromMs) / 2, REST_MAX_MS)
}

/** A time in the window a directory suggests (RFC 9773 §4.2), the same in the same window. */
export function pickTime(
  window: RenewalWindow,
  before: { readonly window: RenewalWindow; readonly renewMs: number } | undefined,
  random: () => number,
): number {
  const { startMs, endMs } = window
  const isSame = before?.window.startMs === startMs && before.window.endMs === endMs
  return isSame ? before.renewMs : Math.round(startMs + (endMs - startMs) * random())
}

/** Milliseconds until a directory is asked for its window again. */
export function toNextCheckMs({
  retryAfterMs = ASK_AGAIN_MS,
}: {
  readonly retryAfterMs?: number | undefined
}): number {
  return Math.min(Math.max(retryAfterMs, ASK_AGAIN_MIN_MS), ASK_AGAIN_MAX_MS)
}

/** How directories call a certificate whose renewal they are asked for (RFC 9773 §4.1); undefined: it does not say whose key signed it. */
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
