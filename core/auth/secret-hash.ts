import {
  type BinaryLike,
  randomBytes,
  type ScryptOptions,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { promisify } from 'node:util'
import { GatewayError } from '../errors.ts'

/** 16 MiB and about a tenth of a second (RFC 7914; OWASP's cheapest in memory). */
const LOG_COST = 14
const BLOCKS = 8
const PARALLEL = 5
const SALT_BYTES = 16
const HASH_BYTES = 32

/** At a time: the threads they run in also read files and look names up. */
const RUNNING_MAX = 2
/** More than these are refused: they would wait for longer than people do. */
const WAITING_MAX = 100

/** `$scrypt$ln=14,r=8,p=5$<salt>$<hash>`, as the PHC string format has it. */
const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([\w+/]+)\$([\w+/]+)$/

const derive = promisify<BinaryLike, BinaryLike, number, ScryptOptions, Buffer>(scrypt)

/** Hashes secrets, and compares with hashes, without holding anything else up. */
export interface SecretHasher {
  /** @throws {GatewayError} 503 when too many wait. */
  readonly hash: (secret: string) => Promise<string>
  /**
   * Whether a hash is of this secret. Without a hash it is not, and finding that out takes as long: how long
   * it takes says nothing about who exists.
   *
   * @throws {GatewayError} 503 when too many wait.
   */
  readonly matches: (secret: string, hash: string | undefined) => Promise<boolean>
}

/** @param logCost binary logarithm of the cost of hashes made from now on. */
export function createSecretHasher(id: string, logCost: number = LOG_COST): SecretHasher {
  const waiting: (() => void)[] = []
  let running = 0

  async function run(
    secret: string,
    salt: Buffer,
    logCost: number,
    blocks: number,
    parallel: number,
  ) {
    if (running === RUNNING_MAX) {
      if (waiting.length === WAITING_MAX)
        throw new GatewayError(id, 503, 'too many secrets are being checked, try again later', {
          headers: ['retry-after', '5'],
        })
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running++
    try {
      const cost = 2 ** logCost
      // Twice what the algorithm takes.
      const maxmem = 256 * blocks * (cost + parallel)
      return await derive(secret.normalize('NFKC'), salt, HASH_BYTES, {
        ...{ N: cost, r: blocks, p: parallel, maxmem },
      })
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }

  return {
    async hash(secret) {
      const salt = randomBytes(SALT_BYTES)
      const hash = await run(secret, salt, logCost, BLOCKS, PARALLEL)
      const parameters = `ln=${logCost},r=${BLOCKS},p=${PARALLEL}`
      return `$scrypt$${parameters}$${toText(salt)}$${toText(hash)}`
    },

    async matches(secret, hash) {
      const [, cost, blocks, parallel, salt, wanted] = FORM.exec(hash ?? '') ?? []
      if (wanted === undefined) {
        await run(secret, randomBytes(SALT_BYTES), logCost, BLOCKS, PARALLEL)
        return false
      }
      const bytes = Buffer.from(salt!, 'base64')
      const found = await run(secret, bytes, Number(cost), Number(blocks), Number(parallel))
      const expected = Buffer.from(wanted, 'base64')
      return found.length === expected.length && timingSafeEqual(found, expected)
    },
  }
}

function toText(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
