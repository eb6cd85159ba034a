//! Control flow (ISA 9.7.12), stack (ISA 9.7.17) and the rest (ISA 9.7.19).

use super::{Does, Group, Work, row, section};

#[rustfmt::skip]
pub(super) static GROUP: Group = Group {
    name: "control",
    sets: &[],
    sections: &[
        section("9.7.12.3", &[
            row("bra{.uni} tgt:label", "1.0"),
        ]).does(Does::JUMPS),
        section("9.7.12.4", &[
            row("brx.idx{.uni} %index:u32, tlist:targets", "6.0 sm_30"),
        ]).does(Does::JUMPS),
        section("9.7.12.5", &[
            row("call{.uni} func:callee{, flist:prototype}", "1.0"),
            row("call{.uni} func:callee, param-list:arguments{, flist:prototype}", "1.0"),
            row("call{.uni} ret-param:arguments, func:callee{, flist:prototype}", "1.0"),
            row("call{.uni} ret-param:arguments, func:callee, param-list:arguments{, flist:prototype}", "1.0"),
        ]).does(Does::JUMPS),
        section("9.7.12.6", &[
            row("ret{.uni}", "1.0"),
        ]).does(Does::JUMPS),
        section("9.7.12.7", &[
            row("exit", "1.0"),
        ]).does(Does::JUMPS),
        section("9.7.17", &[
            row("stacksave.{u32,u64} d", "7.3 sm_52"),
            row("stackrestore.{u32,u64} %a", "7.3 sm_52"),
            row("alloca.{u32,u64} d, size:1{, #immAlign:1/2/4/8/16/32/64/128/256/512/1024/2048/4096/8192/16384/32768/65536/131072/262144/524288/1048576/2097152/4194304/8388608}", "7.3 sm_52"),
        ]).does(Does::OTHER),
        section("9.7.19", &[
            row("trap", "1.0").does(Does::JUMPS),
            row("brkpt", "1.0").work(Work::Control),
            row("nanosleep.u32 t", "6.2 sm_70").work(Work::Control),
            row("pmevent #a:0..15", "1.4"),
            row("pmevent.mask #a:0..65535", "3.0 sm_20"),
            row("setmaxnreg.{inc,dec}.sync.aligned.u32 #imm-reg-count:24..256", "8.0 sm_90a|sm_100f|sm_110f|sm_120f"),
        ]).does(Does::OTHER),
    ],
};
