import { randomBytes } from 'node:crypto'
import { toWorkloadScope } from '../../core/auth/policy/account-rights.ts'
import type { WorkloadKey } from '../../core/contracts/runtime.ts'
import { conflict } from '../../sdk/errors.ts'

/** Keeps accounts, as the service `auth` does. */
export interface AccountManager {
  readonly find: (
    namespace: string,
    id: string,
  ) => Promise<
    { readonly id: string; readonly metadata: Readonly<Record<string, string>> } | undefined
  >
  readonly create: (
    namespace: string,
    account: {
      readonly id: string
      readonly type: 'service'
      readonly scopes: readonly string[]
      readonly metadata: Readonly<Record<string, string>>
      readonly secret: string
    },
    errorId: string,
  ) => Promise<unknown>
  readonly changeSecret: (
    namespace: string,
    id: string,
    secrets: { readonly old: undefined; readonly new: string },
    errorId: string,
  ) => Promise<void>
  readonly setScopes: (
    namespace: string,
    id: string,
    scopes: readonly string[],
    errorId: string,
  ) => Promise<boolean>
  readonly delete: (namespace: string, id: string, errorId: string) => Promise<boolean>
}

/** What a service logs in with. */
export interface ServiceAccount {
  readonly id: string
  readonly secret: string
}

/** The accounts services run as. */
export interface ServiceAccounts {
  /**
   * Makes the account of an object, or gives the one that is there another secret.
   *
   * @throws {GatewayError} 409 if an account of that id exists that the runtime did not create.
   */
  readonly open: (key: WorkloadKey) => Promise<ServiceAccount>
  /**
   * Gives the account of an object the scope of its workload, and revokes its tokens, where it has other scopes: accounts of earlier versions have
   * `service`. Ignores an account that is missing or that the runtime did not create.
   */
  readonly migrate: (key: WorkloadKey) => Promise<void>
  /** What was issued to it counts for nothing any more. */
  readonly remove: (key: WorkloadKey) => Promise<void>
}

const ERROR_ID = 'runtime'
const SECRET_BYTES = 32
/** In the metadata of accounts that were made here: which object's they are. */
const OBJECT = 'runtime'

export function createServiceAccounts(accounts: AccountManager): ServiceAccounts {
  const isOwn = (account: { readonly metadata: Readonly<Record<string, string>> }, id: string) =>
    account.metadata[OBJECT] === id
  return {
    async open({ namespace, ...key }) {
      const id = toAccountId(key)
      const secret = randomBytes(SECRET_BYTES).toString('base64url')
      const known = await accounts.find(namespace, id)
      if (known !== undefined && !isOwn(known, id))
        throw conflict(
          ERROR_ID,
          `The service would run as the account ${id}, which the runtime did not create. Delete the account or choose another service name.`,
        )
      const scopes = [toWorkloadScope(namespace, key.name)]
      const made = { type: 'service', scopes, metadata: { [OBJECT]: id } } as const
      if (known === undefined) await accounts.create(namespace, { ...made, id, secret }, ERROR_ID)
      else {
        await accounts.setScopes(namespace, id, scopes, ERROR_ID)
        await accounts.changeSecret(namespace, id, { old: undefined, new: secret }, ERROR_ID)
      }
      return { id, secret }
    },

    async migrate({ namespace, ...key }) {
      const id = toAccountId(key)
      const known = await accounts.find(namespace, id)
      if (known === undefined || !isOwn(known, id)) return
      await accounts.setScopes(namespace, id, [toWorkloadScope(namespace, key.name)], ERROR_ID)
    },

    async remove({ namespace, ...key }) {
      const id = toAccountId(key)
      const known = await accounts.find(namespace, id)
      if (known !== undefined && isOwn(known, id)) await accounts.delete(namespace, id, ERROR_ID)
    },
  }
}

/** Id of the account of an object: of no two the same, as accounts may have it. */
export function toAccountId({ name, version }: Omit<WorkloadKey, 'namespace'>): string {
  return `${name}@${version.replaceAll('/', ':')}`
}
