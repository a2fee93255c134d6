import { dirname } from 'node:path'
import { SETTINGS } from '../../settings/settings.ts'
import { toFolderPath } from './data-folder.ts'

/**
 * Returns the folder for user files: the parent of the default data folder (specification:
 * Authentication 10), or otherwise the data folder itself.
 */
export function toHomeFolder(dataFolder: string): string
export function toHomeFolder(dataFolder: string | undefined): string | undefined
export function toHomeFolder(dataFolder: string | undefined): string | undefined {
  return dataFolder && (isDefault(dataFolder) ? dirname(dataFolder) : dataFolder)
}

function isDefault(path: string): boolean {
  try {
    return path === toFolderPath(SETTINGS.dataDir.inServer!.default!)
  } catch {
    // Without a home folder, there is no default data folder.
    return false
  }
}
