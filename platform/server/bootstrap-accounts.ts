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

/** The password of the account `admin`, made at the first start: told once. */
export interface AdminPassword {
  readonly password: string
  /** That holds it, for its owner alone; undefined: no file does. */
  readonly file: string | undefined
}

export interface FirstAccountsOptions {
  readonly accounts: Accounts
  readonly settings: Settings
  /** Folder of whoever runs the server; undefined: nothing is kept in files. */
  readonly folder: string | undefined
  /** Whether a random password is shown to a person. */
  readonly canShowPassword: boolean
  readonly onWarning: (message: string) => void
}

const ADMIN = 'admin'
/** Holds the password of the account `admin` until it is changed, for its owner alone. */
export const PASSWORD_FILE = 'admin_password'
/** What of the audit makes the password that was told once one of nobody. */
const ENDS_PASSWORD = ['account.change-secret', 'account.delete']
/** That of profile `test`, which everybody knows. */
const KNOWN_PASSWORD = 'mx'
/** Services of whoever runs the server, on this machine. */
const LOCAL = 'local'
const PASSWORD_BYTES = 18
const SECRET_BYTES = 32
const ERROR_ID = 'auth'

/**
 * Rejects an admin password that is too short; profile `test` may set its known one.
 *
 * @throws {SettingsError}
 */
export function checkAdminPassword(settings: Settings): void {
  const { adminPassword, profile } = settings
  if (adminPassword === '' || adminPassword.length >= SECRET_MIN) return
  if (profile === 'test' && adminPassword === KNOWN_PASSWORD) return
  throw new SettingsError([
    `${SETTINGS.adminPassword.name} (MX_ADMIN_PASSWORD) must be at least ${SECRET_MIN} characters, got ${adminPassword.length}`,
  ])
}

/**
 * Makes the accounts there are at the first start (reference 15.16): the administrator, and, where everything is on one
 * machine, one for the services of whoever runs the server.
 *
 * @returns the password of the administrator, if it was made up.
 * @throws {Error} with one line, {@link SettingsError} for a password everybody knows.
 */
export async function openFirstAccounts(
  options: FirstAccountsOptions,
): Promise<AdminPassword | undefined> {
  const [password] = await Promise.all([openAdmin(options), openLocal(options)])
  return password
}

/** Removes the file of the administrator's password when that is none any more. */
export async function forgetPassword(
  { action, namespace, target }: AuditRecord,
  folder: string | undefined,
): Promise<void> {
  const isPassword = namespace === DEFAULT_NAMESPACE && target === ADMIN
  if (folder !== undefined && isPassword && ENDS_PASSWORD.includes(action))
    await removeFile(join(folder, PASSWORD_FILE))
}

/**
 * Removes that file, too, when another server of the store has changed the password. It takes as long as a login: nothing has to wait
 * for it.
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
    if (isReachedByOthers(settings) && (await isPassword(accounts, KNOWN_PASSWORD)))
      refuseKnown(settings, `the password of the account ${ADMIN}`)
    return undefined
  }
  if (disableAdmin || (await hasAdministrator(accounts))) return undefined
  const given = adminPassword || (profile === 'test' ? KNOWN_PASSWORD : '')
  if (given === '' && folder === undefined && !canShowPassword) {
    onWarning(
      `no account ${ADMIN}: its password would be random, and neither a file nor a terminal could show it. Set MX_ADMIN_PASSWORD and restart`,
    )
    return undefined
  }
  const password = given || randomBytes(PASSWORD_BYTES).toString('base64url')
  const file = given === '' && folder !== undefined ? join(folder, PASSWORD_FILE) : undefined
  // First: an account nobody knows the password of is none.
  if (file !== undefined) await writePrivateFile(file, `${password}\n`)
  const isKnownSecret = password === KNOWN_PASSWORD
  const account = { id: ADMIN, scopes: [ADMIN], secret: password, isKnownSecret }
  const isNew = await tryCreate(accounts, account)
  if (!isNew && file !== undefined) await removeFile(file)
  return isNew && given === '' ? { password, file } : undefined
}

/** Of a store that is this machine's alone: others would have the credentials of their own files. */
async function openLocal({ accounts, settings, folder }: FirstAccountsOptions): Promise<void> {
  const { profile, store } = settings
  if (profile !== 'local' || folder === undefined || !['lmdb', 'memory'].includes(store)) return
  const file = join(folder, 'service_credentials')
  const account = await accounts.find(DEFAULT_NAMESPACE, LOCAL)
  // Somebody else's account of that name stays theirs.
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

/** False: there is one. */
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

/** Whoever deleted the first one is an administrator, too. */
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

/** @throws {SettingsError} unless nobody else reaches the server, or it is for tests. */
function refuseKnown(settings: Settings, what: string): void {
  if (!isReachedByOthers(settings)) return
  const address = listAddresses(settings).find((address) => !isLoopback(address))!
  throw new SettingsError([
    `${what} is "${KNOWN_PASSWORD}", which everybody knows, and others reach ${formatAddress(address)}: change it, or listen on loopback`,
  ])
}

function isReachedByOthers(settings: Settings): boolean {
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
