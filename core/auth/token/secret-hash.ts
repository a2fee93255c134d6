import {
  type BinaryLike,
  randomBytes,
  type ScryptOptions,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { promisify } from 'node:util'
import { type AcquireOptions, createFairQueue } from '../../../lib/async/fair-queue.ts'
import { GatewayError } from '../../errors.ts'

/** 16 MiB and about 0.1 s per hash (RFC 7914; the OWASP recommendation with the lowest memory). */
const LOG_COST = 14
const BLOCKS = 8
const PARALLEL = 5
const SALT_BYTES = 16
const HASH_BYTES = 32

/** Maximum concurrent hashes: the thread pool also reads files and resolves names. */
const RUNNING_MAX = 2
/** Maximum wait for a hash without priority, in milliseconds; then 503. */
export const MAX_HASH_WAIT_MS = 5000
/** `Retry-After` of the 503, in seconds. */
const RETRY_AFTER = ['retry-after', '5'] as const
/** Maximum number of waiters per key (such as an address), and in total. */
const WAITING_PER_KEY_MAX = 100
const WAITING_MAX = 1000

/** `$scrypt$ln=14,r=8,p=5$<salt>$<hash>`, the PHC string format. */
const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([\w+/]+)\$([\w+/]+)$/

type Derive = (
  secret: BinaryLike,
  salt: BinaryLike,
  bytes: number,
  options: ScryptOptions,
) => Promise<Buffer>

const deriveByScrypt: Derive = promisify<BinaryLike, BinaryLike, number, ScryptOptions, Buffer>(
  scrypt,
)

/** Position in the queue for a hash. */
export interface HashSlot extends Pick<AcquireOptions, 'hasPriority' | 'maxWaitMs'> {
  /** Waiting keys, such as addresses, are served round-robin. */
  readonly key: string
}

/** Hashes and verifies passwords in the thread pool. */
export interface SecretHasher {
  /**
   * @param slot @default slot of the server itself, with priority
   * @throws {GatewayError} 503 if too many are waiting, or the wait without priority exceeds {@link MAX_HASH_WAIT_MS}.
   */
  readonly hash: (secret: string, slot?: HashSlot) => Promise<string>
  /**
   * Compares a password with a hash. Without a hash, it returns false after the same time, so that the duration does
   * not reveal which accounts exist.
   *
   * @param slot @default slot of the server itself, with priority
   * @throws {GatewayError} 503, see {@link hash}.
   */
  readonly matches: (secret: string, hash: string | undefined, slot?: HashSlot) => Promise<boolean>
}

interface HashCost {
  /** Binary logarithm of the cost. */
  readonly logCost: number
  readonly blocks: number
  readonly parallel: number
}

const SERVER_SLOT: HashSlot = { key: '', hasPriority: true }

/**
 * @param logCost binary logarithm of the cost of new hashes.
 * @param derive @default scrypt
 */
export function createSecretHasher(
  id: string,
  logCost: number = LOG_COST,
  derive: Derive = deriveByScrypt,
): SecretHasher {
  const currentCost: HashCost = { logCost, blocks: BLOCKS, parallel: PARALLEL }
  const queue = createFairQueue({
    slots: RUNNING_MAX,
    maxWaitingPerKey: WAITING_PER_KEY_MAX,
    maxWaiting: WAITING_MAX,
    toError: () => tooManyHashes(id),
  })

  async function run(
    secret: string,
    salt: Buffer,
    { logCost, blocks, parallel }: HashCost,
    { key, hasPriority = false, maxWaitMs = MAX_HASH_WAIT_MS }: HashSlot,
  ) {
    // With priority, the wait is bounded by the checks in progress, even on a slow machine.
    const release = await queue.acquire(key, hasPriority ? { hasPriority } : { maxWaitMs })
    try {
      const cost = 2 ** logCost
      // Twice the memory that scrypt needs.
      const maxmem = 256 * blocks * (cost + parallel)
      return await derive(secret.normalize('NFKC'), salt, HASH_BYTES, {
        ...{ N: cost, r: blocks, p: parallel, maxmem },
      })
    } finally {
      release()
    }
  }

  return {
    async hash(secret, slot = SERVER_SLOT) {
      const salt = randomBytes(SALT_BYTES)
      const hash = await run(secret, salt, currentCost, slot)
      const parameters = `ln=${logCost},r=${BLOCKS},p=${PARALLEL}`
      return `$scrypt$${parameters}$${toText(salt)}$${toText(hash)}`
    },

    async matches(secret, hash, slot = SERVER_SLOT) {
      const [, cost, blocks, parallel, salt, encoded] = FORM.exec(hash ?? '') ?? []
      if (encoded === undefined) {
        await run(secret, randomBytes(SALT_BYTES), currentCost, slot)
        return false
      }
      const bytes = Buffer.from(salt!, 'base64')
      const parsed = { logCost: Number(cost), blocks: Number(blocks), parallel: Number(parallel) }
      const actual = await run(secret, bytes, parsed, slot)
      const expected = Buffer.from(encoded, 'base64')
      return actual.length === expected.length && timingSafeEqual(actual, expected)
    },
  }
}

export function tooManyHashes(id: string): GatewayError {
  return new GatewayError(
    id,
    503,
    `Too many password checks: the wait exceeds ${MAX_HASH_WAIT_MS / 1000} s. Try again later.`,
    { headers: RETRY_AFTER },
  )
}

function toText(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
