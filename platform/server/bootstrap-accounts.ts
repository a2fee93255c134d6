import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { type Accounts, SECRET_MIN } from '../../services/auth/accounts/accounts.ts'
import type { AuditRecord } from '../../services/auth/audit.ts'
import { type Address, formatAddress, isLoopback } from '../settings/parse/address.ts'
import { SETTINGS, type Settings } from '../settings/settings.ts'
import { SettingsError } from '../settings/sources.ts'
import { readPrivateFile, removeFile, writePrivateFile } from './files/private-file.ts'

/** Initial password of the account `admin`, which is shown once. */
export interface AdminPassword {
  readonly password: string
  /** File with the password, readable only by its owner; undefined if there is no file. */
  readonly file: string | undefined
}

export interface FirstAccountsOptions {
  readonly accounts: Accounts
  readonly settings: Settings
  /** Folder for user files; undefined if files are not used. */
  readonly folder: string | undefined
  /** Whether a random password can be shown to a person. */
  readonly canShowPassword: boolean
  readonly onWarning: (message: string) => void
}

const ADMIN = 'admin'
/** File with the initial password of `admin`, which exists until the password is changed. */
export const PASSWORD_FILE = 'admin_password'
/** Audit actions that invalidate the initial password. */
const ENDS_PASSWORD = ['account.change-secret', 'account.delete']
/** Publicly known password of the `test` profile. */
const DEFAULT_PASSWORD = 'mx'
/** Account for the current user's services on this machine. */
const LOCAL = 'local'
const PASSWORD_BYTES = 18
const SECRET_BYTES = 32
const ERROR_ID = 'auth'

/**
 * Rejects an admin password that is too short, except the public password of the `test` profile.
 *
 * @throws {SettingsError}
 */
export function checkAdminPassword(settings: Settings): void {
  const { adminPassword, profile } = settings
  if (adminPassword === '' || adminPassword.length >= SECRET_MIN) return
  if (profile === 'test' && adminPassword === DEFAULT_PASSWORD) return
  throw new SettingsError([
    `${SETTINGS.adminPassword.name} (MX_ADMIN_PASSWORD) must be at least ${SECRET_MIN} characters, got ${adminPassword.length}`,
  ])
}

/**
 * Creates the initial accounts (reference 15.16): the administrator and, in the `local` profile, an account for the
 * current user's services.
 *
 * @returns the password of the administrator if it was generated.
 * @throws {Error} with a one-line message.
 * @throws {SettingsError} if the public password is used on a reachable address.
 */
export async function openFirstAccounts(
  options: FirstAccountsOptions,
): Promise<AdminPassword | undefined> {
  const [password] = await Promise.all([openAdmin(options), openLocal(options)])
  return password
}

/** Removes the file with the initial password once an audit record invalidates it. */
export async function forgetPassword(
  { action, namespace, target }: AuditRecord,
  folder: string | undefined,
): Promise<void> {
  const isPassword = namespace === DEFAULT_NAMESPACE && target === ADMIN
  if (folder !== undefined && isPassword && ENDS_PASSWORD.includes(action))
    await removeFile(join(folder, PASSWORD_FILE))
}

/**
 * Removes the file if another server with the same store has changed the password. This takes as
 * long as a login, so callers should not await it.
 */
export async function forgetStalePassword(
  accounts: Accounts,
  folder: string | undefined,
): Promise<void> {
  if (folder === undefined) return
  const file = join(folder, PASSWORD_FILE)
  const password = (await readPrivateFile(file))?.trim()
  if (password === undefined) return
  if ((await accounts.find(DEFAULT_NAMESPACE, ADMIN))?.id !== ADMIN) return
  if (!(await isPassword(accounts, password))) await removeFile(file)
}

async function openAdmin(options: FirstAccountsOptions): Promise<AdminPassword | undefined> {
  const { accounts, settings, folder, canShowPassword, onWarning } = options
  const { adminPassword, disableAdmin, profile } = settings
  if ((await accounts.find(DEFAULT_NAMESPACE, ADMIN))?.id === ADMIN) {
    if (isReachableRemotely(settings) && (await isPassword(accounts, DEFAULT_PASSWORD)))
      rejectKnown(settings, `the password of account ${ADMIN}`)
    return undefined
  }
  if (disableAdmin || (await hasAdministrator(accounts))) return undefined
  const configured = adminPassword || (profile === 'test' ? DEFAULT_PASSWORD : '')
  if (configured === '' && folder === undefined && !canShowPassword) {
    onWarning(
      `account ${ADMIN} not created: there is no file or terminal for its random password. Set MX_ADMIN_PASSWORD and restart`,
    )
    return undefined
  }
  const password = configured || randomBytes(PASSWORD_BYTES).toString('base64url')
  const file = configured === '' && folder !== undefined ? join(folder, PASSWORD_FILE) : undefined
  // Written before the account is created, so that the password is not lost if the write fails.
  if (file !== undefined) await writePrivateFile(file, `${password}\n`)
  const allowShortSecret = password === DEFAULT_PASSWORD
  const account = { id: ADMIN, scopes: [ADMIN], secret: password, allowShortSecret }
  const isNew = await tryCreate(accounts, account)
  if (!isNew && file !== undefined) await removeFile(file)
  return isNew && configured === '' ? { password, file } : undefined
}

/**
 * Creates the local account only with a private store: other servers would overwrite the account
 * with credentials from their own files.
 */
async function openLocal({ accounts, settings, folder }: FirstAccountsOptions): Promise<void> {
  const { profile, store } = settings
  if (profile !== 'local' || folder === undefined || !['lmdb', 'memory'].includes(store)) return
  const file = join(folder, 'service_credentials')
  const account = await accounts.find(DEFAULT_NAMESPACE, LOCAL)
  // An existing account with that name that was not created here is left unchanged.
  if (account !== undefined && (account.id !== LOCAL || account.type !== 'service')) return
  if (account !== undefined && (await readPrivateFile(file)) !== undefined) return
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const isNew = await tryCreate(accounts, {
    ...{ id: LOCAL, secret, type: 'service', scopes: ['service'] },
  })
  if (!isNew) {
    const secrets = { old: undefined, new: secret }
    await accounts.changeSecret(DEFAULT_NAMESPACE, LOCAL, secrets, ERROR_ID)
  }
  await writePrivateFile(file, `${JSON.stringify({ id: LOCAL, secret })}\n`)
}

/** Returns false if the account already exists. */
async function tryCreate(
  accounts: Accounts,
  account: Parameters<Accounts['create']>[1],
): Promise<boolean> {
  try {
    await accounts.create(DEFAULT_NAMESPACE, account, ERROR_ID)
    return true
  } catch (error) {
    if (error instanceof GatewayError && error.code === 400) return false
    throw error
  }
}

/** Returns whether there is any administrator, because the initial one may have been deleted. */
async function hasAdministrator(accounts: Accounts): Promise<boolean> {
  let after: string | undefined
  do {
    const page = await accounts.list(DEFAULT_NAMESPACE, after === undefined ? {} : { after })
    if (page.accounts.some(({ scopes }) => scopes.includes(ADMIN))) return true
    after = page.next
  } while (after !== undefined)
  return false
}

async function isPassword(accounts: Accounts, password: string): Promise<boolean> {
  try {
    await accounts.logIn(DEFAULT_NAMESPACE, ADMIN, password, ERROR_ID)
    return true
  } catch (error) {
    if (error instanceof GatewayError && error.code === 400) return false
    throw error
  }
}

/**
 * @throws {SettingsError} if the server is reachable from other machines and does not use the `test` profile.
 */
function rejectKnown(settings: Settings, subject: string): void {
  if (!isReachableRemotely(settings)) return
  const address = listAddresses(settings).find((address) => !isLoopback(address))!
  throw new SettingsError([
    `${subject} is the public default "${DEFAULT_PASSWORD}", and ${formatAddress(address)} is reachable from other machines; change the password, or listen on loopback`,
  ])
}

function isReachableRemotely(settings: Settings): boolean {
  return settings.profile !== 'test' && !listAddresses(settings).every(isLoopback)
}

function listAddresses({
  address,
  http2Address = address,
  proxyAddress,
  webAddress,
}: Settings): readonly Address[] {
  return [address, http2Address, proxyAddress, webAddress]
}
