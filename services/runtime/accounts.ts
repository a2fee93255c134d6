import { randomBytes } from 'node:crypto'
import { toWorkloadScope } from '../../core/auth/policy/account-rights.ts'
import type { WorkloadKey } from '../../core/contracts/runtime.ts'
import { conflict } from '../../sdk/errors.ts'

/** Manages accounts through the `auth` service. */
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

/** Credentials of a service. */
export interface ServiceAccount {
  readonly id: string
  readonly secret: string
}

/** The accounts that services run as. */
export interface ServiceAccounts {
  /**
   * Creates the account of an object, or rotates the secret of an existing account.
   *
   * @throws {GatewayError} 409 if the account with that id was not created by the runtime.
   */
  readonly open: (key: WorkloadKey) => Promise<ServiceAccount>
  /**
   * Sets the scope of a workload's account and revokes its tokens if the scope differs, because
   * earlier versions granted `service`. Ignores an account that is missing or was not created by
   * the runtime.
   */
  readonly migrate: (key: WorkloadKey) => Promise<void>
  /** Deletes the account; its tokens become invalid. */
  readonly remove: (key: WorkloadKey) => Promise<void>
}

const ERROR_ID = 'runtime'
const SECRET_BYTES = 32
/** Metadata key of accounts created by the runtime. Its value identifies the object. */
const OBJECT = 'runtime'

export function createServiceAccounts(accounts: AccountManager): ServiceAccounts {
  const isManaged = (
    account: { readonly metadata: Readonly<Record<string, string>> },
    id: string,
  ) => account.metadata[OBJECT] === id
  return {
    async open({ namespace, ...key }) {
      const id = toAccountId(key)
      const secret = randomBytes(SECRET_BYTES).toString('base64url')
      const existing = await accounts.find(namespace, id)
      if (existing !== undefined && !isManaged(existing, id))
        throw conflict(
          ERROR_ID,
          `The service would run as the account ${id}, which the runtime did not create. Delete the account or choose another service name.`,
        )
      const scopes = [toWorkloadScope(namespace, key.name)]
      const newAccount = { type: 'service', scopes, metadata: { [OBJECT]: id } } as const
      if (existing === undefined)
        await accounts.create(namespace, { ...newAccount, id, secret }, ERROR_ID)
      else {
        await accounts.setScopes(namespace, id, scopes, ERROR_ID)
        await accounts.changeSecret(namespace, id, { old: undefined, new: secret }, ERROR_ID)
      }
      return { id, secret }
    },

    async migrate({ namespace, ...key }) {
      const id = toAccountId(key)
      const existing = await accounts.find(namespace, id)
      if (existing === undefined || !isManaged(existing, id)) return
      await accounts.setScopes(namespace, id, [toWorkloadScope(namespace, key.name)], ERROR_ID)
    },

    async remove({ namespace, ...key }) {
      const id = toAccountId(key)
      const existing = await accounts.find(namespace, id)
      if (existing !== undefined && isManaged(existing, id))
        await accounts.delete(namespace, id, ERROR_ID)
    },
  }
}

/**
 * Returns the account id of an object. It is unique per object and contains only characters that
 * account ids allow.
 */
export function toAccountId({ name, version }: Omit<WorkloadKey, 'namespace'>): string {
  return `${name}@${version.replaceAll('/', ':')}`
}
