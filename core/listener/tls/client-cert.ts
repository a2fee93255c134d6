import { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { appendParsed, type HeaderList } from '../../http/headers.ts'

const NONE: readonly string[] = []

/** Whether a client presented an invalid certificate. For servers with optional client certificates. */
export function isClientRejected(socket: Socket): boolean {
  const { authorized, getPeerX509Certificate } = socket as TLSSocket
  return !authorized && getPeerX509Certificate.call(socket) !== undefined
}

/**
 * Returns the headers that forward a verified client certificate to backends: `Client-Cert`, and `Client-Cert-Chain`
 * without the root authority, as name, value, name, value… (RFC 9440 §2). Empty without a certificate.
 */
export function toClientCertFields(socket: Socket): readonly string[] {
  if ((socket as TLSSocket).authorized !== true) return NONE
  let { raw, issuerCertificate: next } = (socket as TLSSocket).getPeerCertificate(true)
  if (raw === undefined) return NONE
  const fields = ['client-cert', toBinary(raw)]
  const chain: string[] = []
  let last = new X509Certificate(raw)
  while (next !== undefined) {
    ;({ raw, issuerCertificate: next } = next)
    const issuer = new X509Certificate(raw)
    // The client sent the chain. A backend trusts a self-signed certificate only if it already has it.
    if (!last.verify(issuer.publicKey) || issuer.verify(issuer.publicKey)) break
    chain.push(toBinary(raw))
    last = issuer
  }
  if (chain.length > 0) fields.push('client-cert-chain', chain.join(', '))
  return fields
}

/**
 * Adds the client certificate headers to a request. The client's own headers with these names have been removed before.
 */
export function addClientCert(headers: HeaderList, fields: readonly string[]): void {
  for (let i = 0; i < fields.length; i += 2) appendParsed(headers, fields[i]!, fields[i + 1]!)
}

/** RFC 8941 §3.3.5. */
function toBinary(der: Buffer): string {
  return `:${der.toString('base64')}:`
}
