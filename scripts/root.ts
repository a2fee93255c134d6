import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of `package.json`. Scripts and tests find files of the repository by it, wherever they are compiled to. */
export const ROOT: string = dirname(fileURLToPath(import.meta.resolve('mx-gateway/package.json')))
