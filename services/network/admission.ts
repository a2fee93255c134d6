import {
  createNonce,
  deriveLinkKey,
  type Introduction,
  isProof,
  LINK_VERSION,
  type Pair,
  prove,
} from '../../domain/mesh/handshake.ts'
import { conflict, forbidden } from '../../sdk/errors.ts'
import { NETWORK } from './link-call.ts'

export interface AdmissionOptions {
  /** Of this server. */
  readonly id: string
  /** Name of the network it is in. */
  readonly network: string
  /** Where others reach its RPC proxy; empty: nowhere. */
  readonly address: () => string
  /** What all servers of the network know; empty: there is none. */
  readonly token: string
  /** Whether everybody may link where there is no token; else nobody. */
  readonly isOpen: boolean
}

/** Who this server is, and the one place where it is decided who may link with it. */
export interface Admission {
  /** What is said at the beginning of a link. */
  readonly introduce: () => Introduction
  /** Proves to the other server that this one knows the token. @throws {GatewayError} 403 when there is none. */
  readonly prove: (role: keyof Pair, pair: Pair) => string
  /**
   * Judges the other server.
   *
   * @param role of the other one.
   * @throws {GatewayError} 403 when it does not know the token, or there is none; 409 when it is of another network, or has the id of this one.
   */
  readonly judge: (role: keyof Pair, proof: string, pair: Pair) => void
  /** Whether an introduction is of this very server, which has called itself. */
  readonly isSelf: (other: Introduction) => boolean
}

export function createAdmission(options: AdmissionOptions): Admission {
  const { id, network, address, token, isOpen } = options
  const instance = createNonce()
  const isSelf = (other: Introduction): boolean => other.instance === instance
  /** Derived for the first link: a server without links does not pay for it. */
  let linkKey: Buffer | undefined
  const toKey = (): Buffer => {
    if (token === '' && !isOpen)
      throw forbidden(NETWORK, `the server ${id} has no network_token: without one none links`)
    linkKey ??= deriveLinkKey(token)
    return linkKey
  }

  return {
    introduce: () => ({
      version: LINK_VERSION,
      network,
      id,
      instance,
      address: address(),
      nonce: createNonce(),
    }),

    prove: (role, pair) => prove(toKey(), role, pair),
    isSelf,

    judge(role, proof, pair) {
      const other = pair[role]
      if (!isProof(proof, toKey(), role, pair))
        throw forbidden(NETWORK, `the token of the server ${other.id} is not that of ${id}`)
      if (other.network !== network)
        throw conflict(
          NETWORK,
          `the server ${other.id} is of the network ${other.network}, and ${id} of ${network}`,
        )
      if (other.id === id && !isSelf(other))
        throw conflict(
          NETWORK,
          `another server has the id ${id}, too: its data folder is a copy, and needs an id of its own`,
        )
    },
  }
}
