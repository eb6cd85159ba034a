//! The attributes of a device by CUDA's numbers.

use cuda_abi::{Result, Status};
use sim_core::DeviceConfig;

/// Attributes that are limits of textures, arrays and the machine, as an H200 has them.
const FIXED: &[(i32, i32)] = &[
    (11, i32::MAX),
    (14, 512),
    (15, 1),
    (17, 0),
    (18, 0),
    (19, 1),
    (20, 0),
    (21, 131_072),
    (22, 131_072),
    (23, 65_536),
    (24, 16_384),
    (25, 16_384),
    (26, 16_384),
    (27, 32_768),
    (28, 32_768),
    (29, 2048),
    (30, 512),
    (31, 1),
    (32, 1),
    (34, 0),
    (35, 0),
    (36, 3_201_000),
    (37, 6016),
    (38, 62_914_560),
    (40, 3),
    (41, 1),
    (42, 32_768),
    (43, 2048),
    (44, 1),
    (45, 32_768),
    (46, 32_768),
    (47, 8192),
    (48, 8192),
    (49, 32_768),
    (50, 0),
    (51, 32),
    (52, 32_768),
    (53, 32_768),
    (54, 2046),
    (55, 32_768),
    (56, 131_072),
    (57, 65_536),
    (58, 16_384),
    (59, 16_384),
    (60, 16_384),
    (61, 32_768),
    (62, 2048),
    (63, 32_768),
    (64, 32_768),
    (65, 2048),
    (66, 32_768),
    (67, 32_768),
    (68, 2046),
    (69, 268_435_456),
    (70, 131_072),
    (71, 65_000),
    (72, 2_097_120),
    (73, 32_768),
    (74, 32_768),
    (77, 32_768),
    (78, 1),
    (79, 1),
    (80, 1),
    (83, 1),
    (84, 0),
    (85, 0),
    (86, 0),
    (87, 2),
    (88, 0),
    (89, 1),
    (90, 1),
    (91, 1),
    (92, 0),
    (93, 0),
    (94, 0),
    (95, 1),
    (96, 0),
    (98, 0),
    (99, 1),
    (100, 0),
    (101, 0),
    // Virtual memory management with file descriptors; compression and other handles are not there.
    (102, 1),
    (103, 1),
    (104, 0),
    (105, 0),
    (107, 0),
    (108, 39_321_600),
    (109, 134_217_728),
    (110, 0),
    (112, 0),
    (113, 1),
    (114, 0),
    (115, 1),
    (116, 0),
    (117, 0),
    (118, 0),
    (119, 0),
    (120, 1),
    (121, 0),
    (122, 1),
    (123, 1),
    (124, 0),
    (125, 0),
    (126, 4),
    (127, 1),
    (128, 0),
    (129, 0),
    (130, 0),
    (131, -1),
    (132, 0),
    (133, 0),
    (134, 0),
    (135, 0),
    (136, 0),
    (137, 0),
    (138, 0),
    (139, 0x2335_10de),
    (140, 0x18bf_10de),
    (141, 0),
    (142, 0),
    (143, 0),
    (144, 0),
    (145, 0),
    (146, 0),
    (147, 0),
];

/// The value of attribute `number` of device `index`.
///
/// # Errors
/// `INVALID_VALUE` for numbers that are no attribute.
pub fn attribute(config: &DeviceConfig, index: usize, number: i32) -> Result<i32> {
    let from_config = match number {
        1 => config.threads_per_block,
        2 | 3 => config.threads_per_block.min(1024),
        4 => 64,
        5 => config.grid_x,
        6 | 7 => 65_535,
        8 => 48 << 10,
        9 => 64 << 10,
        10 => 32,
        12 | 82 => config.registers_per_multiprocessor,
        13 => config.clock_khz,
        16 => config.multiprocessors,
        33 => index as u32 + 1,
        39 => config.threads_per_multiprocessor,
        75 => u32::from(config.sm / 10),
        76 => u32::from(config.sm % 10),
        81 => config.shared_per_multiprocessor,
        97 => config.shared_per_block,
        106 => config.blocks_per_multiprocessor,
        111 => config.shared_reserved,
        _ => {
            let fixed = FIXED.iter().find(|(fixed, _)| *fixed == number);
            return fixed.map(|(_, value)| *value).ok_or(Status::INVALID_VALUE);
        }
    };
    Ok(i32::try_from(from_config).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_of_cuda_13_has_a_value() {
        let config = DeviceConfig::h200();
        for number in 1..=147 {
            assert!(attribute(&config, 0, number).is_ok(), "{number}");
        }
        assert_eq!(attribute(&config, 0, 148), Err(Status::INVALID_VALUE));
        assert_eq!(attribute(&config, 0, 16), Ok(132));
        assert_eq!(attribute(&config, 0, 75), Ok(9));
    }
}
