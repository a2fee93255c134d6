import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folder of `package.json`, independent of the folder that scripts and tests are compiled to. */
export const ROOT: string = dirname(fileURLToPath(import.meta.resolve('mx-gateway/package.json')))
