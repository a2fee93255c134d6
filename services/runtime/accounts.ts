import { randomBytes } from 'node:crypto'
import type { WorkloadKey } from '../../core/contracts/runtime.ts'
import { conflict } from '../../sdk/errors.ts'

/** Keeps accounts, as the service `auth` does. */
export interface AccountKeeper {
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
   * @throws {GatewayError} 409 where an account of that id is somebody else's.
   */
  readonly open: (key: WorkloadKey) => Promise<ServiceAccount>
  /** What was issued to it counts for nothing any more. */
  readonly remove: (key: WorkloadKey) => Promise<void>
}

const ERROR_ID = 'runtime'
const SECRET_BYTES = 32
/** In the metadata of accounts that were made here: which object's they are. */
const OBJECT = 'runtime'

export function createServiceAccounts(accounts: AccountKeeper): ServiceAccounts {
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
          `the account ${id}, which the service would run as, is somebody else's: delete it, or choose another name`,
        )
      const made = { type: 'service', scopes: ['service'], metadata: { [OBJECT]: id } } as const
      if (known === undefined) await accounts.create(namespace, { ...made, id, secret }, ERROR_ID)
      else await accounts.changeSecret(namespace, id, { old: undefined, new: secret }, ERROR_ID)
      return { id, secret }
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
