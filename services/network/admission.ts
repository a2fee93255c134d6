import {
  createNonce,
  deriveLinkKey,
  type Introduction,
  type Introductions,
  isProof,
  LINK_VERSION,
  prove,
} from '../../domain/mesh/handshake.ts'
import { conflict, forbidden } from '../../sdk/errors.ts'
import { NETWORK } from './link-call.ts'

export interface AdmissionOptions {
  /** Id of this server. */
  readonly id: string
  /** Name of the server's network. */
  readonly network: string
  /** Returns the advertised address of the server's RPC proxy; empty if none. */
  readonly address: () => string
  /** Shared token of the network; empty if none. */
  readonly token: string
  /**
   * Whether all servers may link without a token. If false and there is no token, no server may
   * link.
   */
  readonly isOpen: boolean
}

/** Identity of this server. Only this component decides which servers may link. */
export interface Admission {
  /** Returns the first message of a link. */
  readonly createHello: () => Introduction
  /**
   * Proves that this server has the token.
   *
   * @throws {GatewayError} 403 if this server has no token.
   */
  readonly prove: (role: keyof Introductions, pair: Introductions) => string
  /**
   * Authenticates the other server.
   *
   * @param role role of the other server.
   * @throws {GatewayError} 403 if the other server does not have the token or there is no token;
   * 409 if it is in another network or has the id of this server.
   */
  readonly authenticate: (role: keyof Introductions, proof: string, pair: Introductions) => void
  /** Returns whether an introduction comes from this server, which has called itself. */
  readonly isSelf: (other: Introduction) => boolean
}

export function createAdmission(options: AdmissionOptions): Admission {
  const { id, network, address, token, isOpen } = options
  const instance = createNonce()
  const isSelf = (other: Introduction): boolean => other.instance === instance
  // Derived for the first link, because derivation is expensive.
  let linkKey: Buffer | undefined
  const toKey = (): Buffer => {
    if (token === '' && !isOpen)
      throw forbidden(NETWORK, `server ${id} has no network_token, which is required to link`)
    linkKey ??= deriveLinkKey(token)
    return linkKey
  }

  return {
    createHello: () => ({
      version: LINK_VERSION,
      network,
      id,
      instance,
      address: address(),
      nonce: createNonce(),
    }),

    prove: (role, pair) => prove(toKey(), role, pair),
    isSelf,

    authenticate(role, proof, pair) {
      const other = pair[role]
      if (!isProof(proof, toKey(), role, pair))
        throw forbidden(
          NETWORK,
          `network_token of server ${other.id} does not match the token of ${id}`,
        )
      if (other.network !== network)
        throw conflict(
          NETWORK,
          `server ${other.id} belongs to network ${other.network}, ${id} to network ${network}`,
        )
      if (other.id === id && !isSelf(other))
        throw conflict(
          NETWORK,
          `duplicate server id ${id}: the other server uses a copy of the data folder; give it a different id`,
        )
    },
  }
}
