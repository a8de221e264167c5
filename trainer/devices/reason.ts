import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where onnxruntime says in which line of its own source it failed, and which condition did not hold. */
const SOURCE_PREFIX = /^\S*\.(?:cc|h):\d+ .*? was false\. /su;

/**
 * Why a provider cannot be used, in words for people, from what onnxruntime threw. `folder` is where its libraries are: that a
 * library is missing is seen there, since what is thrown does not tell it from one that cannot be loaded.
 */
export function explainProviderFailure(provider: string, thrown: string, folder: string): string {
  if (thrown.includes('backend not found')) {
    return `onnxruntime-node has no such provider on ${process.platform}/${process.arch}`;
  }
  if (thrown.includes('Failed to load shared library')) {
    const missing = ['shared', provider]
      .map((name) => `libonnxruntime_providers_${name}.so`)
      .filter((name) => !existsSync(join(folder, name)));
    return missing.length > 0
      ? `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} not installed with onnxruntime-node`
      : `libonnxruntime_providers_${provider}.so cannot be loaded: a library that it needs is missing, or of another version`;
  }
  if (/No supported adapters|Failed to get a WebGPU adapter/u.test(thrown)) {
    return 'no graphics adapter that WebGPU can use was found (on Linux it needs a Vulkan driver)';
  }
  return thrown.replace(SOURCE_PREFIX, '').trim();
}
