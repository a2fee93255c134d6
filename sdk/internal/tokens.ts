import type { TokenSource } from '../../core/contracts/token-source.ts'

/** Whom clients are, for those of this process that call for them. */
const tokens = new WeakMap<object, TokenSource>()

export function setServiceTokens(client: object, source: TokenSource): void {
  tokens.set(client, source)
}

/** Undefined: nobody that is known. */
export function findServiceTokens(client: object): TokenSource | undefined {
  return tokens.get(client)
}
