import type { Duplex } from 'node:stream'
import type { Client, ClientConfig } from 'pg'

/** Client internals for password requests from the server. `pg` 8 has no setting for them. */
interface Authentication {
  readonly connection: { readonly stream: Duplex }
}

/**
 * Returns a client class that sends a cleartext password only over TLS (libpq: `require_auth`).
 * Without TLS, any program listening on the port could request it.
 *
 * @param client the `pg` client class.
 */
export function toSafeClient(client: typeof Client, { ssl }: ClientConfig): typeof Client {
  if (ssl !== false) return client
  return class SafeClient extends client {
    _handleAuthCleartextPassword(): void {
      const { connection } = this as unknown as Authentication
      connection.stream.destroy(
        new Error(
          'PostgreSQL requested a cleartext password, which requires TLS: use scram-sha-256 in pg_hba.conf, or sslmode=verify-full',
        ),
      )
    }
  }
}
