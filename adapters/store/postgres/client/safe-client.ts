import type { Duplex } from 'node:stream'
import type { Client, ClientConfig } from 'pg'

/** The part of a client that answers requests of the server for a password; `pg` 8 has no setting for it. */
interface Authentication {
  readonly connection: { readonly stream: Duplex }
}

/**
 * A class of clients that send the password in clear over TLS only (libpq: `require_auth`): without TLS any program
 * that listens at the port could request it.
 *
 * @param client that of `pg`.
 */
export function toSafeClient(client: typeof Client, { ssl }: ClientConfig): typeof Client {
  if (ssl !== false) return client
  return class SafeClient extends client {
    _handleAuthCleartextPassword(): void {
      const { connection } = this as unknown as Authentication
      connection.stream.destroy(
        new Error(
          'PostgreSQL asked for the password in clear, which is not sent without TLS: use scram-sha-256 in pg_hba.conf, or sslmode=verify-full',
        ),
      )
    }
  }
}
