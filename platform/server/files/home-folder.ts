import { dirname } from 'node:path'
import { SETTINGS } from '../../settings/settings.ts'
import { toFolderPath } from './data-folder.ts'

/** Folder for user files: the parent of the default data folder (specification: Authentication 10), otherwise the data folder itself. */
export function toHomeFolder(dataFolder: string): string
export function toHomeFolder(dataFolder: string | undefined): string | undefined
export function toHomeFolder(dataFolder: string | undefined): string | undefined {
  return dataFolder && (isDefault(dataFolder) ? dirname(dataFolder) : dataFolder)
}

function isDefault(path: string): boolean {
  try {
    return path === toFolderPath(SETTINGS.dataDir.inServer!.default!)
  } catch {
    // There is no default data folder without a home folder.
    return false
  }
}
