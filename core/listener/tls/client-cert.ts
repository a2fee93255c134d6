import { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { appendParsed, type HeaderList } from '../../http/headers.ts'

const NONE: readonly string[] = []

/** Whether a client showed a certificate that no authority stands for. Only for servers that ask for one and let clients in without. */
export function isClientRejected(socket: Socket): boolean {
  const { authorized, getPeerX509Certificate } = socket as TLSSocket
  return !authorized && getPeerX509Certificate.call(socket) !== undefined
}

/**
 * What backends are told of a client's verified certificate: `Client-Cert`, and `Client-Cert-Chain` without the authority that
 * ends it, as name, value, name, value… (RFC 9440 §2). Empty: there is none.
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
    // The client chose what it sent along; and who signs itself is known to the backend, or to nobody.
    if (!last.verify(issuer.publicKey) || issuer.verify(issuer.publicKey)) break
    chain.push(toBinary(raw))
    last = issuer
  }
  if (chain.length > 0) fields.push('client-cert-chain', chain.join(', '))
  return fields
}

/** Adds them to a request, whose own have been dropped. */
export function addClientCert(headers: HeaderList, fields: readonly string[]): void {
  for (let i = 0; i < fields.length; i += 2) appendParsed(headers, fields[i]!, fields[i + 1]!)
}

/** RFC 8941 §3.3.5. */
function toBinary(der: Buffer): string {
  return `:${der.toString('base64')}:`
}
